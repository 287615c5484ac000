// What only the stateful era has: the handshake.
#pragma once

#include <string>
#include <string_view>

#include "../encode.hpp"
#include "dialect.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/rpc/error_code.hpp"
#include "messages.hpp"

namespace godwit::inline v0::mcp {

/// The params of `initialize`. A revision we do not speak is answered with one that we do.
GODWIT_API Result<Handshake> read_initialize(json::View params);
GODWIT_API void write_initialize_result(json::Writer& writer, const Dialect& dialect,
                                        std::string_view capabilities, const Implementation& server,
                                        const std::string& instructions);

}  // namespace godwit::inline v0::mcp
