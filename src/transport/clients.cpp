#include "clients.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "godwit/base/rollback.hpp"

namespace godwit::inline v0::detail::transport {

namespace {

/// The part of all places that silent clients keep although others are quiet.
constexpr std::size_t silent_share = 16;
/// Clients that are looked at for a quiet one; the busy ones among them are not looked at again
/// soon.
constexpr int tries = 16;

}  // namespace

Clients::Clients(Loop& loop, const Limits& limits, const Clock& clock, Function<void()> gone)
    : loop_(loop), limits_(limits), clock_(clock), gone_(std::move(gone)), timer_(loop) {}

Clients::~Clients() = default;

Connection& Clients::add(std::unique_ptr<rpc::Transport> transport,
                         std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options,
                         bool timed) {
  List made;
  made.push_back({Connection(loop_, std::move(transport), std::move(router), std::move(options)),
                  clock_.now(), timed ? State::silent : State::heard});
  const List::iterator at = made.begin();
  // Nothing is called from inside the constructor: the loop brings the first message. Only those
  // of a listener, which may have to make room, are told apart by when they spoke.
  if (timed) at->connection.on_heard([this, at] { move(at, State::heard); });
  at->connection.on_close([this, at](const Error&) {
    list_of(at->state).erase(at);
    gone_();
  });
  List& list = list_of(at->state);
  list.splice(list.end(), made);
  Rollback undo([&] { list.erase(at); });
  if (timed && !timer_.active()) watch();
  undo.dismiss();
  return at->connection;
}

Clients::List& Clients::list_of(State state) noexcept {
  return state == State::silent ? silent_ : state == State::heard ? heard_ : leaving_;
}

void Clients::move(List::iterator client, State to) noexcept {
  if (client->state == State::leaving) return;
  List& list = list_of(to);
  list.splice(list.end(), list_of(std::exchange(client->state, to)), client);
}

bool Clients::make_room() {
  List::iterator found = heard_.end();
  if (silent_.size() > limits_.connections / silent_share) {
    found = silent_.begin();
  } else {
    for (int i = 0; i < tries && found == heard_.end() && !heard_.empty(); ++i) {
      const List::iterator first = heard_.begin();
      if (first->connection.peer().in_flight() == 0) {
        found = first;
      } else {
        move(first, State::heard);
      }
    }
    if (found == heard_.end() && silent_.empty()) return false;
    if (found == heard_.end()) found = silent_.begin();
  }
  const Lifetime::Watch self(lifetime_);  // what is told may destroy this
  found->connection.abort();
  if (!self.expired()) move(found, State::leaving);
  return true;
}

/// In order, or at once if there is no memory for that.
void Clients::close(List::iterator client) {
  const Lifetime::Watch self(lifetime_);  // closing may run any code
  move(client, State::leaving);
  try {
    client->connection.close();
  } catch (...) {
    if (!self.expired()) client->connection.abort();
  }
}

void Clients::close_all() {
  timer_.cancel();
  for (List* list : {&silent_, &heard_}) {
    while (!list->empty()) close(list->begin());
  }
}

/// Waits for the time of the oldest silent client.
void Clients::watch() {
  if (silent_.empty()) return;
  const Duration left = limits_.first_message_time - (clock_.now() - silent_.front().since);
  timer_.start(std::max<Duration>(left, std::chrono::milliseconds(1)), [this] { close_late(); });
}

void Clients::close_late() {
  const TimePoint now = clock_.now();
  const Lifetime::Watch self(lifetime_);  // closing may run any code
  while (!silent_.empty() && now - silent_.front().since >= limits_.first_message_time) {
    close(silent_.begin());
    if (self.expired()) return;
  }
  watch();
}

}  // namespace godwit::inline v0::detail::transport
