// SavedSession: what a SessionStore keeps of an HttpSession, as JSON: whose it is, by which streams
// its requests are answered that go on elsewhere, and what its service has to say about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/result.hpp"
#include "godwit/rpc/identity.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::detail::web {

/// The stream of a request that goes on elsewhere.
struct SavedStream {
  rpc::Route route{};
  std::string name{};
  /// The number of an event that the store has; 0 if none is known.
  std::uint64_t last{};
};

struct SavedSession {
  /// Null if nobody in particular.
  std::shared_ptr<const rpc::Identity> owner;
  std::vector<SavedStream> streams;
  std::string service;
};

std::string write_saved(const rpc::Identity* owner, const std::vector<SavedStream>& streams,
                        std::string_view service);
/// An error if it is none that was written here.
Result<SavedSession> read_saved(std::string_view text);

}  // namespace godwit::inline v0::detail::web
