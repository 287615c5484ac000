// Relay: a request that came in on one thread and belongs to a session of another. It is carried
// over as a copy; the answer comes back piece by piece.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "endpoint_impl.hpp"
#include "godwit/http/exchange.hpp"

namespace godwit::inline v0::detail {

/// A request that owns its bytes.
class OwnedRequest {
 public:
  explicit OwnedRequest(const http::Request& request);
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;
  const http::Request& view() const noexcept { return view_; }

 private:
  std::string text_;  // of everything, with spare bytes at the end
  std::vector<http::Field> fields_;
  http::Request view_;
};

/// The endpoints of one server, one per thread.
struct EndpointGroup {
  struct Member {
    Endpoint::Impl* endpoint = nullptr;  // null once it is gone; its loop may live on
    /// Runs work on its thread. Any thread.
    std::function<void(Function<void()>)> post;
  };
  std::vector<Member> members;
};

class Relay final : public http::Exchange,
                    private http::Exchange::Owner,
                    public std::enable_shared_from_this<Relay> {
 public:
  Relay(std::shared_ptr<EndpointGroup> group, std::size_t from, std::size_t to)
      : group_(std::move(group)), here_(group_->members[from]), there_(group_->members[to]) {}

  /// On the thread that the request came in on.
  static void send(const std::shared_ptr<EndpointGroup>& group, std::size_t from, std::size_t to,
                   const http::Request& request, http::Exchange& exchange);

  /// The endpoint that the request came to is going away.
  void abandon();

  // Exchange, on the thread of the session.
  void respond(int status, std::string_view type, std::string_view body,
               const http::Fields& more) override;
  void begin(int status, std::string_view type, const http::Fields& more) override;
  void write(std::string_view piece) override;
  void end() override;
  void abort() override;
  /// On the way to the thread of the connection; what waits there is looked after there.
  std::size_t unsent() const noexcept override { return under_way_.load(); }
  void set_owner(http::Exchange::Owner* owner) noexcept override { owner_ = owner; }

 private:
  // On the thread that the request came in on.
  void on_gone() override;
  void pass_on(http::Exchange& exchange, std::string_view piece);
  /// Runs with the true exchange, if it is still there.
  template <class F>
  void back(F&& work, bool last);

  const std::shared_ptr<EndpointGroup> group_;
  EndpointGroup::Member& here_;
  EndpointGroup::Member& there_;
  http::Exchange* exchange_ = nullptr;      // here
  http::Exchange::Owner* owner_ = nullptr;  // there
  bool over_ = false;                       // there
  std::atomic<std::size_t> under_way_{0};
};

}  // namespace godwit::inline v0::detail
