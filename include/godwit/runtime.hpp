// Where servers and clients meet the outside world.
#pragma once

#include "godwit/runtime/serve.hpp"
