// What a program calls: the client's side of the Model Context Protocol, without I/O.
#pragma once

#include "godwit/client/client_options.hpp"
#include "godwit/client/client_session.hpp"
#include "godwit/client/forwarding_transport.hpp"
#include "godwit/client/input_handler.hpp"
#include "godwit/client/listen.hpp"
#include "godwit/client/tool_outcome.hpp"
