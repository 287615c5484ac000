#include "godwit/rpc/identity.hpp"

#include <algorithm>

namespace godwit::inline v0::rpc {

bool Identity::is_same(const Identity& other) const noexcept {
  return issuer == other.issuer && subject == other.subject && client == other.client;
}

bool Identity::may(std::string_view scope) const noexcept {
  return std::ranges::find(scopes, scope) != scopes.end();
}

}  // namespace godwit::inline v0::rpc
