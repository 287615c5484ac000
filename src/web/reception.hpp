// Reception: an HTTP request of the client transport and what comes back: events one by one,
// anything else whole. It can come back to an event stream that broke off.
//
// Held by shared_ptr, because every callback may end the transport and all of this with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/http_client.hpp"
#include "godwit/http/sse_decoder.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/web/http_transport.hpp"

namespace godwit::inline v0::detail::web {

/// An answer that is over.
struct Received {
  /// 0 if not even its head came.
  int status = 0;
  /// The Content-Type without parameters, in lower case.
  std::string type{};
  /// Of anything but an event stream.
  std::string body{};
  /// Where a redirect points to.
  std::string location{};
  /// The Content-Encoding, if it has one: then its body cannot be read.
  std::string coding{};
  Result<void> how{};
  /// It was broken off here, because it cannot be read or is more than the limits allow. Another
  /// attempt would be no better.
  bool broken_off = false;

  bool accepted() const noexcept { return status / 100 == 2; }
  /// The authorizer of this side gave up; `how` says why.
  bool not_authorized() const noexcept { return !how && is_not_authorized(how.error()); }
  bool is_stream() const noexcept;
};

/// Shared because what is handed on are views of its buffers, and whoever gets them may end it.
class Reception : public std::enable_shared_from_this<Reception> {
 public:
  explicit Reception(HttpTransport::Impl& core);
  virtual ~Reception();

  /// No callback comes any more.
  void drop() noexcept;

 protected:
  void send(http::HttpRequest request);

  virtual void on_head(int status, const http::FieldsView& fields);
  /// False if it was of no use to anybody.
  virtual bool on_event(const http::SseEvent& event) = 0;
  virtual void on_done(const Received& received) = 0;
  /// The authorizer begins to decide about a refusal, or has decided.
  virtual void on_held(bool held);

  /// The last event had an id that can be sent back: the server lets us come back.
  bool resumable() const noexcept { return !last_id_.empty(); }
  const std::string& last_id() const noexcept { return last_id_; }
  void forget_last_id() noexcept { last_id_.clear(); }
  /// Waits as long as the server wants, longer after each time in a row that brought nothing new,
  /// and then does it.
  void later(Function<void()> again);
  /// How many times in a row not even an event came.
  unsigned fruitless() const noexcept { return fruitless_; }
  /// Calls it after this time, instead of what later() waits for.
  void after(Duration delay, Function<void()> call) { timer_.start(delay, std::move(call)); }
  void stop_waiting() noexcept { timer_.cancel(); }
  /// Of the request.
  std::string_view sent_body() const noexcept { return fetch_.body(); }
  /// Something is still to come.
  bool active() const noexcept { return fetch_.active(); }

  HttpTransport::Impl& core_;

 private:
  template <class F>
  void survive(F&& run);
  void take_head(int status, const http::FieldsView& fields);
  void take_body(std::string_view piece);
  void take_events();
  void take_end(Result<void> how);
  void too_large();
  /// Ends it here.
  void break_off(std::string why);
  /// Bytes so far that were of no use to anybody.
  std::uint64_t useless() const noexcept { return unused_ + events_->idle_bytes(); }

  http::FetchHandle fetch_;
  std::optional<http::SseDecoder> events_;
  Received received_;
  std::string last_id_;
  Duration retry_;
  Timer timer_;
  TimePoint opened_{};
  unsigned fruitless_ = 0;
  unsigned stale_ = 0;                // times in a row that brought nothing new
  std::uint64_t unused_ = 0;          // for events that nobody could use
  TimePoint second_{};                // when the second began in which useless bytes are counted,
  std::uint64_t useless_before_ = 0;  // and how many there were before it
};

}  // namespace godwit::inline v0::detail::web
