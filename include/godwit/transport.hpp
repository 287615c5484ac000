// Umbrella of the transport module.
#pragma once

#include "godwit/transport/command.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/framing.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/rpc_endpoint.hpp"
#include "godwit/transport/rpc_http.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/socket.hpp"
#include "godwit/transport/stdio.hpp"
#include "godwit/transport/stream_transport.hpp"
#include "godwit/transport/websocket.hpp"
#include "godwit/transport/websocket_decoder.hpp"
