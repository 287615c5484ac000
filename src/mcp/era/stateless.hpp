// What only the stateless era has: the facts that every request carries in its _meta.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dialect.hpp"
#include "godwit/base/error.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/mcp/notification.hpp"
#include "messages.hpp"
#include "stateless_headers.hpp"

namespace godwit::inline v0::mcp {

namespace meta_key {
inline constexpr std::string_view protocol_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view client_capabilities =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view client_info = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view server_info = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view subscription_id = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta_key

namespace code {
inline constexpr std::int64_t header_mismatch = -32020;
inline constexpr std::int64_t missing_capability = -32021;
inline constexpr std::int64_t unsupported_version = -32022;
}  // namespace code

/// Does this _meta belong to a request of the stateless era?
GODWIT_API bool is_stateless(json::View meta) noexcept;
inline bool is_stateless(const RequestFacts& facts) noexcept {
  return static_cast<bool>(facts.revision);
}
/// Why a request of the stateless era cannot be served. If the carrier has fields, the revision
/// must stand there, too.
GODWIT_API std::optional<Error> check_facts(RequestFacts& facts,
                                            const rpc::HeaderFields* fields = nullptr);
/// The answer to a revision that is not spoken here.
GODWIT_API Error unsupported_version(std::string_view requested);
/// The answer to a request without the members that every one needs.
GODWIT_API Error missing_meta(std::string_view key);
/// The answer if a client would have to be able to do something. `required` is JSON:
/// {"sampling":{}}.
GODWIT_API Error missing_capability(std::string_view what, std::string required);

}  // namespace godwit::inline v0::mcp
