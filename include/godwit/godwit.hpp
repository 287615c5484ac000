// Umbrella: everything godwit offers today. Programs that need less include less: each module has
// an umbrella of its own (godwit/json.hpp, godwit/rpc.hpp, …) and each name a header.
#pragma once

#include "godwit/base.hpp"
#include "godwit/client.hpp"
#include "godwit/http.hpp"
#include "godwit/io.hpp"
#include "godwit/json.hpp"
#include "godwit/mcp.hpp"
#include "godwit/rpc.hpp"
#include "godwit/runtime.hpp"
#include "godwit/seal.hpp"
#include "godwit/server.hpp"
#include "godwit/transport.hpp"
#include "godwit/web.hpp"
