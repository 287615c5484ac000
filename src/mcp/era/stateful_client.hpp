// What a client says and reads in the handshake of the stateful era.
#pragma once

#include "dialect.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"
#include "stateless_client.hpp"

namespace godwit::inline v0::mcp {

/// The params of `initialize`, which offers this dialect.
GODWIT_API void write_initialize(json::Writer& writer, const Dialect& offer,
                                 const ClientCapabilities& capabilities,
                                 const Implementation& client);
/// Its answer. A revision that we do not speak is an error with a sentence for a person.
GODWIT_API Result<Welcome> read_initialize_result(json::View result);
/// A dialect of this era by its revision, or the newest.
GODWIT_API const Dialect& stateful_offer(std::string_view revision) noexcept;

}  // namespace godwit::inline v0::mcp
