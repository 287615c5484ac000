// Runs: calls of one session whose handlers wait for answers of the client. They can be saved, and
// rebuilt from that by another server, which goes on when the answers come.
//
// Threads: the peer's.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/id.hpp"

namespace godwit::inline v0::detail::server {

struct Asks;
class Late;

/// A question that was sent and has no answer yet.
struct OpenQuestion {
  std::string key{};
  rpc::Id id{};
  std::string method{};
};

/// A call that waited for answers elsewhere.
struct RestoredRun {
  RestoredRun();
  ~RestoredRun();
  RestoredRun(RestoredRun&&) noexcept;

  std::unique_ptr<Asks> asks;
  std::vector<OpenQuestion> questions;
  double progress = std::numeric_limits<double>::lowest();
  Duration time_used{};
};

class Runs {
 public:
  Runs();
  ~Runs();

  /// Counts whatever makes a difference to what is saved. It moves before a question is sent: what
  /// is saved from then on knows of it.
  std::uint64_t changes() const noexcept { return changes_; }
  void changed() noexcept { ++changes_; }

  /// A call that waits; it leaves before it is destroyed.
  void enter(Late& late) {
    if (waiting_.insert(&late).second) changed();
  }
  void leave(Late& late) noexcept {
    if (waiting_.erase(&late) > 0) changed();
  }
  const std::set<Late*>& waiting() const noexcept { return waiting_; }

  // A request that is handed to the peer again is known by its id.

  bool is_restoring() const noexcept { return !restored_.empty(); }
  void put(const rpc::Id& id, RestoredRun run);
  std::optional<RestoredRun> take(const std::optional<rpc::Id>& id);

 private:
  std::set<Late*> waiting_;
  std::unordered_map<rpc::Id, RestoredRun, rpc::IdHash> restored_;
  std::uint64_t changes_ = 0;
};

}  // namespace godwit::inline v0::detail::server
