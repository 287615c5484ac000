// SessionSaver: has the state of a session saved when it has changed, and holds back what the
// session says until that is done: nothing is told that was not kept. If it cannot be saved,
// whoever wanted the change is told so.
//
// Owner: the HttpSession. There is none where sessions are not saved.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "endpoint_impl.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/transport.hpp"
#include "store_call.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession;

/// Something that a session has to say, or not to say, on one of its ways back.
struct Utterance {
  enum class Kind : std::uint8_t {
    message,
    answer,
    /// There is nothing to answer.
    nothing,
  };
  Kind kind = Kind::nothing;
  rpc::Route route = 0;
  std::string text{};
  /// Of an answer.
  std::optional<Error> error{};
  /// The id of what is answered, as JSON; empty for the answers to a batch.
  std::string answers{};
  /// Of a message: the requests in it.
  std::vector<rpc::Id> ids{};
};

class SessionSaver {
 public:
  explicit SessionSaver(HttpSession& session, Endpoint::Impl& endpoint)
      : session_(session), endpoint_(endpoint) {}

  /// Whether what is said now has to wait, or to be saved first.
  bool must_hold() const noexcept;
  /// Says it when the present state of the session is saved, which may be inside this call.
  void hold(Utterance what);
  /// Whether an answer of this way is held.
  bool holds_answer(rpc::Route route) const noexcept;

  bool busy() const noexcept { return !held_.empty() || call_.has_value(); }
  /// Goes on if the store has answered.
  void look_at_store();
  /// As EventStream::expire().
  std::optional<TimePoint> expire(TimePoint now);
  /// The session is in the store, or may be.
  bool stored() const noexcept { return stored_; }
  /// It was saved at least once.
  bool saved() const noexcept { return saved_; }
  /// The session is what the store says it is.
  void set_restored() noexcept;
  /// The session is over: nothing is said any more.
  void stop() noexcept;

 private:
  struct Held {
    Utterance what;
    std::uint64_t state;  // that has to be saved before
    bool changed;         // it is about that change
  };

  void save();
  /// Asks the store. Nothing if it has not answered yet.
  std::optional<Result<void>> ask();
  void settle(const Result<void>& outcome);
  /// What is said in place of something that was not kept.
  void refuse(Utterance what);

  HttpSession& session_;
  Endpoint::Impl& endpoint_;
  std::list<Held> held_;
  std::size_t held_bytes_ = 0;
  std::uint64_t noted_ = 0;  // the state that was last seen here
  std::uint64_t under_way_ = 0;
  std::optional<StoreCall<void>> call_;
  TimePoint since_{};
  bool asking_ = false;  // the store is on the stack
  bool stored_ = false;
  bool saved_ = false;
};

}  // namespace godwit::inline v0::detail::web
