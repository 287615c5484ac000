// What the policies of a server let a caller see, and lists that show only that.
//
// Such a list is made for one caller: it is not kept, and its cursors are good for nobody else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "catalog.hpp"
#include "godwit/server/access_policy.hpp"
#include "mcp/era/codec.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail::server {

/// Why the caller may not use it; nothing if it may.
struct Refusal {
  Error error;
  bool hide;
};
std::optional<Refusal> refusal_of(const Server::Impl& server, const AccessQuestion& question);

/// The same for everybody who is the same caller.
std::string caller_key(const rpc::Facts& facts);

/// Where a list for one caller goes on. Source 0 is what the server was given, the others are its
/// providers.
struct ListPlace {
  std::size_t source = 0;
  std::string cursor{};

  /// Of source 0: how many entries came before.
  std::optional<std::size_t> position() const;
};
std::string write_cursor(ListKind kind, const rpc::Facts& facts, const ListPlace& place);
/// Nothing if it is none of ours, or of another caller.
std::optional<ListPlace> read_cursor(ListKind kind, const rpc::Facts& facts,
                                     std::string_view cursor);

/// Appends a page of what this caller may see of what the server was given.
struct VisiblePage {
  std::string entries{};
  std::optional<std::size_t> next{};
};
/// Nothing if no page begins there.
std::optional<VisiblePage> visible_page(const Server::Impl& server, const Catalog& catalog,
                                        ListKind kind, const mcp::Codec& codec,
                                        const rpc::Facts& facts, std::size_t from);

}  // namespace godwit::inline v0::detail::server
