// What a server knows of a provider, and the entries that are made for calls of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "catalog.hpp"
#include "godwit/server/provider.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail::server {

struct Provider {
  ListKind kind{};
  /// Its place in cursors; 0 is what the server was given.
  std::size_t source = 0;
  std::shared_ptr<const WorkHandler> list;
  std::shared_ptr<const WorkHandler> call;
  ProviderOptions options;

  /// A schema compiled, kept while there are not too many.
  Result<std::shared_ptr<const json::Schema>> compile(const RawJson& schema) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const json::Schema>, std::less<>> compiled_;
};

/// The providers that may know this name, the first one first; null if there are none.
std::shared_ptr<const Entry> provided_call(const Catalog& catalog, ListKind kind,
                                           std::string_view name);
/// The providers from this one on (0 is the first).
std::shared_ptr<const Entry> provided_list(const Catalog& catalog, ListKind kind,
                                           std::size_t first);

/// What a call of something unknown is answered with.
Error unknown_name(EntryKind kind, std::string_view name);
/// What the handler says that does not know the name.
bool is_not_found(const Error& error) noexcept;

/// Appends what the caller may see of a provider's page. False if it is a page of another list.
bool append_page(std::string& entries, const ListPage& page, ListKind kind,
                 const Server::Impl& server, const Catalog& catalog, const mcp::Codec& codec,
                 const rpc::Facts& facts);
const std::optional<std::string>& next_of(const ListPage& page);

/// Writes a list that was made for one caller.
void write_own_list(json::Writer& writer, ListKind kind, std::string_view entries,
                    const std::optional<std::string>& cursor);

}  // namespace godwit::inline v0::detail::server
