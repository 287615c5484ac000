// What a client says and reads in the stateless era.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect.hpp"
#include "eras.hpp"
#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/implementation.hpp"
#include "messages.hpp"

namespace godwit::inline v0::mcp {

/// The members that the _meta of every request has, without braces: the revision and who asks.
GODWIT_API std::string client_facts(const Dialect& dialect, const ClientCapabilities& capabilities,
                                    const Implementation& client);

/// Is this the name of one of them?
GODWIT_API bool is_client_fact(std::string_view key) noexcept;

/// The answer to the question what a server can do, asked in this dialect. Other dialects may be
/// among Welcome::revisions.
GODWIT_API Result<Welcome> read_discover_result(json::View result, const Dialect& asked);

/// An error that only servers of this era give: whoever sends it needs no handshake.
GODWIT_API bool is_stateless_error(const Error& error) noexcept;
GODWIT_API bool is_unsupported_version(const Error& error) noexcept;
/// The revisions that an unsupported-version error offers instead.
GODWIT_API std::vector<std::string> offered_revisions(const Error& error);
/// The best dialect of the stateless or the stateful era among these; nullptr if there is none.
GODWIT_API const Dialect* best_of(std::span<const std::string> revisions, bool stateless) noexcept;

GODWIT_API ResultKind kind_of(json::View result, const Dialect& dialect) noexcept;

/// How long a result may be used again; zero if not at all.
GODWIT_API Duration time_to_live(json::View result) noexcept;

}  // namespace godwit::inline v0::mcp
