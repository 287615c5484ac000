// Identity: who somebody is, and who vouches for it. Made by whoever verified it: an admission
// function, a verifier of tokens, the program itself. A plain value with a JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::rpc {

struct Identity {
  /// Who vouches for it, such as the URL of an authorization server.
  std::string issuer{};
  /// Who it is, in the issuer's words; unique there.
  std::string subject{};
  /// The program that acts for the subject, if the issuer knows it.
  std::string client{};
  /// What it may do.
  std::vector<std::string> scopes{};
  /// Until when it is good, in seconds since 1970; for ever if not set.
  std::optional<std::int64_t> expires{};
  /// What else the issuer says.
  json::Object claims{};

  /// Whether both name the same one. Scopes, expiry and claims may differ: they change while a
  /// session goes on.
  GODWIT_API bool is_same(const Identity& other) const noexcept;
  GODWIT_API bool may(std::string_view scope) const noexcept;
};

/// The same for those whom nobody may know: null is nobody, who is the same as nobody.
inline bool same_caller(const Identity* a, const Identity* b) noexcept {
  return a && b ? a->is_same(*b) : a == b;
}

}  // namespace godwit::inline v0::rpc
