#include "pending.hpp"

#include <algorithm>

#include "deferred.hpp"
#include "godwit/base/rollback.hpp"

namespace godwit::inline v0::rpc::detail {

void finish_call(Function<void(Result<json::View>)>& done, std::string_view method,
                 Result<json::View> outcome, const Log& log) noexcept {
  try {
    done(std::move(outcome));
  } catch (...) {
    try {
      log.limited(LogLevel::error,
                  describe_throw("the callback of", method, std::current_exception()));
    } catch (...) {
      log.error("a callback threw, and there is no memory to say which");
    }
  }
}

PendingCall& PendingTable::add(std::uint64_t number, PendingCall call) {
  const auto deadline = deadlines_.emplace(call.deadline, number).first;
  Rollback undo([&] { deadlines_.erase(deadline); });
  const auto entry = calls_.emplace(number, std::move(call)).first;
  Rollback undo_entry([&] { calls_.erase(entry); });
  if (!entry->second.id.integer()) named_.emplace(entry->second.id, number);
  undo_entry.dismiss();
  undo.dismiss();
  return entry->second;
}

std::optional<std::uint64_t> PendingTable::find(json::View id) const {
  if (!id || id.is_null()) return std::nullopt;
  if (id.is_number()) {
    const auto number = id.is_real() ? std::nullopt : id.as_uint64();
    if (!number) return std::nullopt;
    const auto found = calls_.find(*number);
    // With UUIDs the numbers are private and must not match.
    if (found == calls_.end() || !found->second.id.integer()) return std::nullopt;
    return *number;
  }
  const auto text = id.as_string();
  if (!text || named_.empty()) return std::nullopt;
  const auto found = named_.find(Id(*text));
  if (found == named_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> PendingTable::find(const Id& id) const {
  if (const auto number = id.integer()) {
    const auto found =
        *number < 0 ? calls_.end() : calls_.find(static_cast<std::uint64_t>(*number));
    if (found == calls_.end() || !found->second.id.integer()) return std::nullopt;
    return found->first;
  }
  const auto found = named_.find(id);
  if (found == named_.end()) return std::nullopt;
  return found->second;
}

const PendingCall* PendingTable::get(std::uint64_t number) const {
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : &found->second;
}

std::optional<PendingCall> PendingTable::take(std::uint64_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return std::nullopt;
  PendingCall call = std::move(found->second);
  calls_.erase(found);
  deadlines_.erase({call.deadline, number});
  if (!call.id.integer()) named_.erase(call.id);
  return call;
}

std::optional<PendingCall> PendingTable::take_due(TimePoint now) {
  if (deadlines_.empty() || deadlines_.begin()->first > now) return std::nullopt;
  return take(deadlines_.begin()->second);
}

std::optional<PendingCall> PendingTable::take_first() {
  if (deadlines_.empty()) return std::nullopt;
  return take(deadlines_.begin()->second);
}

bool PendingTable::extend(std::uint64_t number, TimePoint deadline, Duration timeout) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return false;
  found->second.timeout = timeout;
  if (found->second.left) {
    found->second.left = timeout;
  } else {
    move(found->second, number, deadline);
  }
  return true;
}

bool PendingTable::hold(std::uint64_t number, bool held, TimePoint now) noexcept {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.left.has_value() == held) return false;
  PendingCall& call = found->second;
  if (held) {
    call.left = std::max(call.deadline - now, Duration(0));
    move(call, number, TimePoint::max());
  } else {
    move(call, number, later(now, *call.left));
    call.left.reset();
  }
  return true;
}

void PendingTable::move(PendingCall& call, std::uint64_t number, TimePoint deadline) noexcept {
  auto entry = deadlines_.extract({call.deadline, number});
  entry.value().first = deadline;
  deadlines_.insert(std::move(entry));
  call.deadline = deadline;
}

std::optional<TimePoint> PendingTable::next_deadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace godwit::inline v0::rpc::detail
