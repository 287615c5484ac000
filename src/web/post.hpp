// Post: a message that a client sends, until each request in it has its answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/rpc/id.hpp"
#include "outgoing.hpp"
#include "reception.hpp"

namespace godwit::inline v0::detail::web {

/// The error that a message of JSON-RPC says.
std::optional<Error> error_of(json::View message);

/// What became of something that a server sent.
enum class Delivered : std::uint8_t {
  taken,
  /// An answer that nobody waits for.
  unwanted,
  /// No JSON; a batch where there are none; JSON that is no message. If it came back to a request,
  /// there will be no better answer.
  no_json,
  batch,
  no_message,
};

class Post final : public Reception {
 public:
  Post(HttpTransport::Impl& core, Outgoing message, rpc::MessageFields fields);

  void start();
  /// This request has its answer.
  void settle(const rpc::Id& id);
  /// Answers what is not answered yet, and is over.
  void fail(const Error& why);
  /// The same, because the server answered with this.
  void fail(Delivered what, std::string_view text);

  const Outgoing& message() const noexcept { return message_; }
  /// The server may have seen it.
  bool started() const noexcept { return started_; }
  /// Requests without an answer.
  const std::vector<rpc::Id>& waiting() const noexcept { return waiting_; }
  bool wants_answer() const noexcept { return !waiting_.empty(); }
  /// The server refused it, and has not executed it: the authorizer of this side decides what to
  /// do.
  bool refused() const noexcept { return held_ && !resuming_; }
  /// Its time stands still.
  bool held() const noexcept { return held_; }
  /// The time of its requests stands still, or runs again.
  void hold(bool held);
  void on_held(bool held) override;

  // For the transport's own account.
  bool running = false;          // among those that the server works on
  std::size_t unsent_bytes = 0;  // among what waits to be sent

 private:
  void on_head(int status, const http::FieldsView& fields) override;
  bool on_event(const http::SseEvent& event) override;
  void on_done(const Received& received) override;

  /// Ends it soon if the server does not.
  void linger();
  void session_ended();
  void told(const Received& received);
  void answered(const Received& received);
  void take_refusal(const Received& received);
  void broken(const Received& received);
  void resume();
  /// The server is gone, or talks about something else.
  void fail(std::string why, int status = 0);

  Outgoing message_;
  rpc::MessageFields fields_;
  std::vector<rpc::Id> waiting_;
  int status_ = 0;  // of what comes back
  bool started_ = false;
  bool held_ = false;
  bool in_session_ = false;  // it was sent with the id of a session
  bool resuming_ = false;    // what comes back belongs to a GET
};

}  // namespace godwit::inline v0::detail::web
