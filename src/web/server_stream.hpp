// Streams of events that a client asks for with GET: what a server has to say on its own, and the
// one that carries everything in the older transport.
#pragma once

#include <memory>
#include <string>

#include "godwit/base/error.hpp"
#include "post.hpp"
#include "reception.hpp"

namespace godwit::inline v0::detail::web {

/// What the server of a session says unasked. Not every server has such a stream; one that was
/// there is opened again whenever it ends, as long as the session lasts.
class ServerStream final : public Reception {
 public:
  using Reception::Reception;
  void start();

 private:
  void on_head(int status, const http::FieldsView& fields) override;
  bool on_event(const http::SseEvent& event) override;
  void on_done(const Received& received) override;

  bool tried_ = false;
  bool in_session_ = false;
  bool was_open_ = false;
};

/// The stream of the HTTP+SSE transport. It begins with the address that messages are posted to,
/// and its end is the end of the connection.
class SseStream final : public Reception {
 public:
  /// `first` is the message that is sent once the address is known; if there is none, that message
  /// fails with `why`.
  SseStream(HttpTransport::Impl& core, std::shared_ptr<Post> first, Error why);
  void start();

 private:
  bool on_event(const http::SseEvent& event) override;
  void on_done(const Received& received) override;
  void on_held(bool held) override;
  void limit_endpoint();
  void take_endpoint(std::string_view address);
  void give_up(const std::string& reason);

  std::shared_ptr<Post> first_;  // until the address is known
  Error why_;
};

}  // namespace godwit::inline v0::detail::web
