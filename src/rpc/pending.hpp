// The table of own calls that wait for their outcome, with their deadlines.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::rpc::detail {

/// Without running over the end of time, which is what Duration::max() asks for.
inline TimePoint later(TimePoint now, Duration by) {
  return by > TimePoint::max() - now ? TimePoint::max() : now + by;
}

struct PendingCall {
  Id id;
  std::string method;
  TimePoint deadline{};
  Duration timeout{};
  Route route = 0;  // that it took
  std::uint64_t tag = 0;
  std::optional<Duration> left{};  // of its time, while it is held up
  Function<void(Result<json::View>)> done;
};

/// Why a call has no result, in the words that `say` gives. Without them if there is no memory:
/// code and cause say it, and the call still has its outcome.
template <class Say>
Error end_of_call(std::int64_t code, Cause cause, Say&& say) noexcept {
  Error error{.code = code, .message = {}, .cause = cause};
  try {
    error.message = say();
  } catch (...) {
  }
  return error;
}

/// Hands a call its outcome. What the callback throws goes to the log: it is a bug of the program,
/// and the calls and messages that come after this one have nothing to do with it.
void finish_call(Function<void(Result<json::View>)>& done, std::string_view method,
                 Result<json::View> outcome, const Log& log) noexcept;

/// An entry leaves the table before its callback runs, so no call can have two outcomes.
class PendingTable {
 public:
  /// The entry, whose callback may be set afterwards: it stays with the caller if this throws.
  PendingCall& add(std::uint64_t number, PendingCall call);
  /// The call that this id belongs to, by type and value.
  std::optional<std::uint64_t> find(json::View id) const;
  std::optional<std::uint64_t> find(const Id& id) const;
  const PendingCall* get(std::uint64_t number) const;
  std::optional<PendingCall> take(std::uint64_t number);
  /// The first call whose deadline is not after `now`.
  std::optional<PendingCall> take_due(TimePoint now);
  /// The one that waits shortest.
  std::optional<PendingCall> take_first();
  /// Stops the time of a call, or lets it run again. False if it does so already.
  bool hold(std::uint64_t number, bool held, TimePoint now) noexcept;
  bool extend(std::uint64_t number, TimePoint deadline, Duration timeout);

  std::optional<TimePoint> next_deadline() const;
  std::size_t size() const noexcept { return calls_.size(); }

 private:
  void move(PendingCall& call, std::uint64_t number, TimePoint deadline) noexcept;

  std::unordered_map<std::uint64_t, PendingCall> calls_;
  std::unordered_map<Id, std::uint64_t, IdHash> named_;  // ids that are not the number itself
  std::set<std::pair<TimePoint, std::uint64_t>> deadlines_;
};

}  // namespace godwit::inline v0::rpc::detail
