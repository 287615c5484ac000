// Umbrella of the json module.
#pragma once

#include "godwit/json/codec.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/enum_names.hpp"
#include "godwit/json/field.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/reflect.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/schema_of.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"
