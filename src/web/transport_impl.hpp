// The inside of an HttpTransport: what it learned from the messages that passed, and what is under
// way. Receivers may do anything in a callback, also destroy the transport: whoever calls one holds
// a shared_ptr to this, and `phase` tells afterwards.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "godwit/http/http_client.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/web/http_transport.hpp"
#include "mcp/era/tool_param_headers.hpp"
#include "post.hpp"
#include "server_stream.hpp"

namespace godwit::inline v0 {

/// Shared because a delivery goes on with what else was under way after a receiver that destroys
/// the transport.
struct HttpTransport::Impl : std::enable_shared_from_this<Impl> {
  using PostPtr = std::shared_ptr<detail::web::Post>;
  enum class Phase : std::uint8_t { open, closing, closed };

  Impl(Loop& loop_, HttpTransportOptions options_);

  // The transport.

  void send(const rpc::Outbound& message);
  void when_flushed(Function<void()> done);
  void close();
  /// Ends it because of the other side. Nothing more is sent.
  void end(Error reason);
  /// The transport is destroyed: nobody is told anything any more.
  void abandon();

  // For what is under way.

  /// Hands a message of the server on; `from` is what it came back to.
  detail::web::Delivered deliver(std::string_view text, detail::web::Post* from);
  /// Answers a request in the place of the server.
  void answer(const rpc::Id& id, const Error& error);
  /// The authorizer has a message in its hands, or gave it back.
  void held(detail::web::Post& post);
  /// The server has taken what was posted, or never will.
  void sent(detail::web::Post& post);
  /// The server does not work on it any more: the next one may begin.
  void release(detail::web::Post& post);
  void finished(detail::web::Post& post);
  /// The session is over. What was not executed because of that is answered so that it can be sent
  /// again in a new one.
  void lose_session(std::string why, int status = 0);
  void session_ended();
  void end_lost();
  /// The end of the handshake was taken, or never will be.
  void greeted(bool accepted);
  void begin_session(const http::FieldsView& fields);

  /// Where messages are posted to.
  const http::Url& target() const noexcept { return sse_target ? *sse_target : options.url; }
  http::Fields fields_for(const detail::web::Outgoing& message,
                          const rpc::MessageFields& more) const;
  /// Lets the authorizer have its say, if there is one.
  void authorize(http::HttpRequest& request) const;
  /// A request for an event stream.
  http::HttpRequest get() const;

  // The older transport.

  void try_sse(detail::web::Post& post, Error why);
  void use_sse(http::Url target) { sse_target = std::move(target); }
  void forget_sse() { sse = nullptr; }
  bool over_sse() const noexcept { return sse_target.has_value(); }

  // Inside.

  void post(detail::web::Outgoing message, rpc::MessageFields fields);
  PostPtr add(detail::web::Outgoing message, rpc::MessageFields fields);
  void refuse(const PostPtr& post, Error why);
  void start(const PostPtr& post);
  void start_waiting();
  /// Nothing that waits for its turn can begin before the authorizer has decided.
  bool is_stuck() const noexcept;
  /// What waits for its turn then does not lose its time either.
  void hold_waiting();
  /// It leaves those that the server works on. False if it was not among them.
  bool leave(detail::web::Post& post) noexcept;
  bool cancel(const detail::web::Outgoing& message);
  /// The Post that this message answers, which does not wait for that any more; or null.
  PostPtr settle(json::View message);
  /// An answer without an id: an error says that of what it came back to.
  detail::web::Delivered deliver_nameless(json::View message, const detail::web::Post* from);
  detail::web::Delivered deliver_batch(json::View batch, std::string_view text,
                                       const detail::web::Post* from);
  void forget(const PostPtr& post);
  /// Reads from an answer what must be known later.
  void learn(const detail::web::Post& post, json::View answer);
  void add_session(http::Fields& fields) const;
  void drop_all() noexcept;
  bool is_flushed() const noexcept;
  void tell_flushed();
  void end_session();
  void tell_closed();

  Loop& loop;
  HttpTransportOptions options;
  json::ParseOptions parse_options;
  http::HttpClient client;
  rpc::Receiver* receiver = nullptr;
  Phase phase = Phase::open;
  Error reason{};
  Function<void()> flushed{};
  Timer closing;  // how long the end may take
  http::FetchHandle farewell;

  std::string out;
  json::Document outgoing;  // for what is handed over as bytes
  json::Document incoming;

  std::optional<Error> lost;       // the session is over; what is under way is still waited for
  std::string session;             // of a stateful server that has sessions
  std::string revision;            // agreed on in a handshake
  std::string stateless_revision;  // that the last request spoke
  mcp::ToolParamHeaders tools;     // as messages that were handed over as bytes learned of them

  std::unordered_set<PostPtr> posts;  // all that are not over
  std::unordered_map<rpc::Id, PostPtr, rpc::IdHash> by_id;
  std::deque<PostPtr> waiting;   // for their turn
  std::size_t running = 0;       // that the server works on
  std::size_t running_held = 0;  // of them in the hands of the authorizer
  std::size_t unsent = 0;        // bytes
  bool greeting = false;         // the server has not taken the end of the handshake yet
  bool greeting_held = false;    // because the authorizer has it
  bool waiting_held = false;     // all that wait for their turn

  std::shared_ptr<detail::web::ServerStream> stream;
  std::shared_ptr<detail::web::SseStream> sse;
  std::optional<http::Url> sse_target;
};

}  // namespace godwit::inline v0
