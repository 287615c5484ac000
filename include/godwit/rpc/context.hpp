// Context: what a handler may know and do beside its parameters. Lives as long as the handler runs.
// In plain handlers it is on the peer's thread; in blocking ones on another, where peer() is null
// and everything else works the same.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/reply.hpp"

namespace godwit::inline v0::rpc {

class Peer;

namespace detail {
/// {"jsonrpc":"2.0","method":…,"params":…} in pieces, so that the params can be written in between.
GODWIT_API void begin_notification(std::string& out, std::string_view method);
GODWIT_API void end_notification(std::string& out);
/// The method of one that was written so; empty if it was not, or holds an escape.
std::string_view method_of(std::string_view notification) noexcept;
}  // namespace detail

class GODWIT_API Context {
 public:
  Context(Peer& peer, std::string_view method, json::View id, json::View params, const Facts& facts,
          void* user) noexcept
      : peer_(&peer), method_(method), id_(id), params_(params), facts_(&facts), user_(user) {}
  explicit Context(std::shared_ptr<detail::InFlight> request)
      : method_(request->method()), user_(request->user()), request_(std::move(request)) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string_view method() const noexcept { return method_; }
  /// True if no answer is wanted.
  bool is_notification() const noexcept { return request_ ? request_->is_notification() : !id_; }
  /// The params as they came, on the peer's thread; absent in blocking handlers.
  json::View params() const noexcept { return params_; }
  /// Who sent it, and by which way it came.
  const Facts& facts() const noexcept { return request_ ? request_->facts() : *facts_; }
  /// The connection, on its own thread; nullptr in blocking handlers.
  Peer* peer() const noexcept { return peer_; }
  /// What the program attached to this connection (PeerOptions::user).
  template <class T>
  T* user() const noexcept {
    return static_cast<T*>(user_);
  }
  /// Stops when the peer takes its request back or goes away. A plain handler is done before either
  /// could be noticed, so its token never stops.
  std::stop_token cancelled() const { return request_ ? request_->cancelled() : std::stop_token(); }

  /// Tells the peer something before the answer. Sent at once. On another thread than the peer's it
  /// may wait for that one while more than Limits::output_queue_bytes are on the way there.
  template <class Params>
  void notify(std::string_view method, const Params& params) {
    std::string message;
    detail::begin_notification(message, method);
    json::Writer writer(message);
    json::write(writer, params);
    detail::end_notification(message);
    send(std::move(message));
  }

  /// The same for a notification that is written out already.
  void send(std::string message);

 private:
  Peer* peer_ = nullptr;
  std::string_view method_;
  json::View id_{};
  json::View params_{};
  const Facts* facts_ = nullptr;
  void* user_ = nullptr;
  std::shared_ptr<detail::InFlight> request_;
};

}  // namespace godwit::inline v0::rpc
