// SavedSession: what a SessionStore keeps of an HttpSession, as JSON: whose it is, and what its
// service has to say about it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/result.hpp"
#include "godwit/rpc/identity.hpp"

namespace godwit::inline v0::detail::web {

struct SavedSession {
  /// Null if nobody in particular.
  std::shared_ptr<const rpc::Identity> owner;
  std::string service;
};

std::string write_saved(const rpc::Identity* owner, std::string_view service);
/// An error if it is none that was written here.
Result<SavedSession> read_saved(std::string_view text);

}  // namespace godwit::inline v0::detail::web
