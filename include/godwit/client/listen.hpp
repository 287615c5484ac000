// Listen: hearing of changes at the server for as long as the handle lives. The same for servers
// that push what was subscribed to and for those that keep a subscription request open.
//
// Owner: whoever listens. Threads: callbacks run on the thread of the session's peer; a Listen of a
// ClientSession is used there, one of a Client on any thread.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/mcp/notification.hpp"

namespace godwit::inline v0 {

/// What to do on a change. Those left empty are not called.
struct ListenCallbacks {
  /// The server will tell of these, which may be fewer than were asked for.
  std::function<void(const SubscriptionFilter& honoured)> acknowledged{};
  std::function<void()> tools_changed{};
  std::function<void()> prompts_changed{};
  std::function<void()> resources_changed{};
  /// The uri may be that of a part of what was asked for.
  std::function<void(const std::string& uri)> resource_updated{};
  /// Nothing more will come: the server ended it (a good Result), refused it, or the connection is
  /// gone. Called at most once, and not after the handle was destroyed; perhaps before listen()
  /// returns.
  std::function<void(Result<void>)> ended{};
};

/// Destroying it ends the listening.
class Listen {
 public:
  Listen() = default;
  explicit Listen(Function<void()> end) : end_(std::move(end)) {}
  Listen(Listen&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Listen& operator=(Listen&& other) noexcept {
    if (this != &other) {
      end();
      end_ = std::exchange(other.end_, nullptr);
    }
    return *this;
  }
  ~Listen() { end(); }

  void end() noexcept {
    if (Function<void()> last = std::exchange(end_, nullptr)) last();
  }

 private:
  Function<void()> end_;
};

}  // namespace godwit::inline v0
