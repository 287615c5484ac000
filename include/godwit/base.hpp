// Umbrella of the base module.
#pragma once

#include "godwit/base/base64.hpp"
#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/base/version.hpp"
