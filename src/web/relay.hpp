// Relay: a request that came in on one thread and belongs to a session of another. It is carried
// over as a copy; the answer comes back piece by piece.
//
// The thread that the request came in on is "here", that of the session is "there". Each tells the
// other by a Wakeup, so that the end of a request always arrives, also when memory has run out.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "endpoint_impl.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/owned_request.hpp"
#include "godwit/io/wakeup.hpp"
#include "session_places.hpp"

namespace godwit::inline v0::detail::web {

/// The endpoints of one server, one per thread.
struct EndpointGroup {
  struct Member {
    Endpoint::Impl* endpoint = nullptr;  // null once it is gone; its loop may live on
    Loop* loop = nullptr;
  };
  std::vector<Member> members;
};

/// Sessions on the threads of one server. An id says whose it is.
class ThreadPlaces final : public SessionPlaces {
 public:
  /// As the member of this number sees them. `any_id` says that ids may come from a server with
  /// more threads: each has one place here, too, so that two requests meet.
  ThreadPlaces(std::shared_ptr<EndpointGroup> group, std::size_t here, bool any_id = false)
      : group_(std::move(group)), here_(here), any_id_(any_id) {}
  Where find(std::string_view session) const override;
  void deliver(std::uint64_t place, const http::Request& request,
               http::Exchange& exchange) override;

 private:
  const std::shared_ptr<EndpointGroup> group_;
  const std::size_t here_;
  const bool any_id_;
};

/// Shared because two threads have it, and neither knows when the other is done with it.
class Relay final : public http::Exchange,
                    private http::Exchange::Owner,
                    public std::enable_shared_from_this<Relay> {
 public:
  Relay(std::shared_ptr<EndpointGroup> group, std::size_t from, std::size_t to,
        const http::Request& request);

  /// Here.
  static void send(const std::shared_ptr<EndpointGroup>& group, std::size_t from, std::size_t to,
                   const http::Request& request, http::Exchange& exchange);

  /// Here: the endpoint that the request came to is going away.
  void abandon();

  // Exchange, there.
  void respond(int status, std::string_view type, std::string_view body,
               const http::Fields& more) override;
  void begin(int status, std::string_view type, const http::Fields& more) override;
  void write(std::string_view piece) override;
  void end() override;
  void abort() override;
  /// On the way to the thread of the connection, and what waited there when something arrived last.
  std::size_t unsent() const noexcept override;
  void set_owner(http::Exchange::Owner* owner) noexcept override { owner_ = owner; }

 private:
  /// What the session said that has not been passed on yet.
  struct Said {
    enum class Head : std::uint8_t { none, whole, stream };
    enum class End : std::uint8_t { none, done, failed, broken_off };
    Head head = Head::none;
    int status = 0;
    std::string type{};
    std::string bytes{};  // the body, or pieces of the stream
    http::Fields more{};
    End end = End::none;
  };

  /// Makes the other thread look. Keeps this alive until it has.
  void wake_here() noexcept;
  void wake_there() noexcept;
  void look_here();
  void look_there();
  /// Here.
  void on_gone() override;
  void on_drained() override;
  void pass_on(http::Exchange& exchange, const Said& said);
  /// There: after this the session says nothing more.
  void finish(Said::End how) noexcept;

  const std::shared_ptr<EndpointGroup> group_;
  EndpointGroup::Member& here_;
  EndpointGroup::Member& there_;
  std::unique_ptr<const http::OwnedRequest> request_;  // there: null once the session has seen it
  Wakeup look_here_;
  Wakeup look_there_;
  std::mutex mutex_;  // guards the next
  Said said_;
  std::atomic<bool> drained_ = false;       // there is nothing unsent, which was waited for
  std::atomic<bool> gone_ = false;          // the client went away
  http::Exchange* exchange_ = nullptr;      // here
  bool streaming_ = false;                  // here
  http::Exchange::Owner* owner_ = nullptr;  // there
  bool over_ = false;                       // there
  std::atomic<std::size_t> under_way_{0};
  std::atomic<std::size_t> waiting_{0};
  mutable std::atomic<bool> awaited_{false};  // somebody wants to know when there is nothing unsent
};

}  // namespace godwit::inline v0::detail::web
