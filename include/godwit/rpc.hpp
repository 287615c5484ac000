// Umbrella of the rpc module: JSON-RPC 2.0 without any transport.
#pragma once

#include "godwit/rpc/bridge.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/rpc/meta.hpp"
#include "godwit/rpc/middleware.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/reply.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/rules.hpp"
#include "godwit/rpc/tap.hpp"
#include "godwit/rpc/transport.hpp"
