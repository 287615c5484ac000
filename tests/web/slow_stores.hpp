// Stores that answer when the test says so, and fail when it says so. What they keep is in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/function.hpp"
#include "godwit/mcp/memory_event_store.hpp"
#include "godwit/mcp/memory_session_store.hpp"

namespace godwit::inline v0 {
namespace {

/// What is asked, in order, and what is to come of it.
class Asked {
 public:
  enum class Mode { now, later, fail, throw_, drop };
  /// Of the next operations of this name; "" means all others.
  void set(std::string name, Mode mode) { modes_[std::move(name)] = mode; }
  /// Called with the name of each operation, before anything else.
  std::function<void(std::string_view)> on_ask;

  /// The names, in order.
  std::vector<std::string> seen;
  std::size_t count(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::count(seen, name));
  }
  std::size_t waiting() const { return waiting_.size(); }

  /// Answers those that wait, at most so many.
  void answer(std::size_t most = SIZE_MAX) {
    for (; most > 0 && !waiting_.empty(); --most) take()(true);
  }
  void fail_next() { take()(false); }
  void drop_all() { waiting_.clear(); }
  /// The next one, to be called elsewhere.
  Function<void(bool)> take() {
    Function<void(bool)> next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

 protected:
  template <class T, class Do>
  void ask(std::string name, Done<T> done, Do&& run) {
    seen.push_back(name);
    const auto found = modes_.find(name);
    const Mode mode = found == modes_.end() ? modes_[""] : found->second;
    if (on_ask) on_ask(name);
    switch (mode) {
      case Mode::now:
        return run(std::move(done));
      case Mode::later:
        return waiting_.push_back(
            [done = std::move(done), run = std::forward<Do>(run)](bool good) mutable {
              good ? run(std::move(done)) : done(error("the disk is full"));
            });
      case Mode::fail:
        return done(error("the disk is full"));
      case Mode::throw_:
        throw std::runtime_error("the store has a bug");
      case Mode::drop:
        return;
    }
  }

 private:
  std::map<std::string, Mode> modes_;
  std::deque<Function<void(bool)>> waiting_;
};

class SlowEvents final : public EventStore, public Asked {
 public:
  explicit SlowEvents(std::shared_ptr<MemoryEventStore> inner_ = nullptr)
      : inner(inner_ ? std::move(inner_) : std::make_shared<MemoryEventStore>()) {}

  void append(StreamKey key, std::uint64_t number, std::string_view data, bool final,
              Done<void> done) override {
    ask<void>("append", std::move(done),
              [this, session = std::string(key.session), stream = std::string(key.stream), number,
               text = std::string(data), final](Done<void> then) {
                inner->append({session, stream}, number, text, final, std::move(then));
              });
  }
  void read(StreamKey key, std::uint64_t after, std::size_t most, Done<EventPage> done) override {
    ask<EventPage>("read", std::move(done),
                   [this, session = std::string(key.session), stream = std::string(key.stream),
                    after, most](Done<EventPage> then) {
                     inner->read({session, stream}, after, most,
                                 Done<EventPage>([then = std::move(then),
                                                  this](Result<EventPage> page) mutable {
                                   if (copies) copy(*page);
                                   then(std::move(page));
                                 }));
                   });
  }
  void forget(StreamKey key, Done<void> done) override {
    ask<void>("forget", std::move(done),
              [this, session = std::string(key.session), stream = std::string(key.stream)](
                  Done<void> then) { inner->forget({session, stream}, std::move(then)); });
  }
  void forget_session(std::string_view id, Done<void> done) override {
    ask<void>("forget_session", std::move(done),
              [this, session = std::string(id)](Done<void> then) {
                inner->forget_session(session, std::move(then));
              });
  }

  std::shared_ptr<MemoryEventStore> inner;
  /// As a store does that has nothing in memory.
  bool copies = false;

 private:
  static void copy(EventPage& page) {
    for (KeptEvent& event : page.events) event.data = std::make_shared<std::string>(*event.data);
  }
};

class SlowSessions final : public SessionStore, public Asked {
 public:
  explicit SlowSessions(std::shared_ptr<MemorySessionStore> inner_ = nullptr)
      : inner(inner_ ? std::move(inner_) : std::make_shared<MemorySessionStore>()) {}

  void save(std::string_view id_, std::string_view owner_, std::string_view state_,
            Done<void> done) override {
    ask<void>(
        "save", std::move(done),
        [this, id = std::string(id_), owner = std::string(owner_), state = std::string(state_)](
            Done<void> then) { inner->save(id, owner, state, std::move(then)); });
  }
  void find(std::string_view id_, std::string_view asker_, Done<SessionPlace> done) override {
    ask<SessionPlace>("find", std::move(done),
                      [this, id = std::string(id_), asker = std::string(asker_)](
                          Done<SessionPlace> then) { inner->find(id, asker, std::move(then)); });
  }
  void release(std::string_view id_, std::string_view owner_, Done<void> done) override {
    ask<void>("release", std::move(done),
              [this, id = std::string(id_), owner = std::string(owner_)](Done<void> then) {
                inner->release(id, owner, std::move(then));
              });
  }
  void remove(std::string_view id_, Done<void> done) override {
    ask<void>("remove", std::move(done), [this, id = std::string(id_)](Done<void> then) {
      inner->remove(id, std::move(then));
    });
  }

  std::shared_ptr<MemorySessionStore> inner;
};

}  // namespace
}  // namespace godwit::inline v0
