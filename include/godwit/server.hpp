// A server of the Model Context Protocol, without I/O.
#pragma once

#include "godwit/mcp.hpp"
#include "godwit/server/access_policy.hpp"
#include "godwit/server/context.hpp"
#include "godwit/server/input_required.hpp"
#include "godwit/server/middleware.hpp"
#include "godwit/server/provider.hpp"
#include "godwit/server/reply.hpp"
#include "godwit/server/server.hpp"
