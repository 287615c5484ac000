// Where servers and clients meet the outside world.
#pragma once

#include "godwit/runtime/client.hpp"
#include "godwit/runtime/serve.hpp"
