#include "godwit/web/http_transport.hpp"

#include <algorithm>
#include <utility>

#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/carrier_error.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "transport_impl.hpp"
#include "wire.hpp"

namespace godwit::inline v0 {

using detail::web::Outgoing;
using detail::web::Post;
using mcp::Operation;

namespace {

/// Requests that one server works on at a time; each is a connection. More wait their turn.
constexpr std::size_t most_running = 100;
/// How long the end of a session may take.
constexpr Duration longest_farewell = std::chrono::seconds(1);

bool counts(const Post& post) {
  return !post.message().ids.empty() && !post.message().is(Operation::listen);
}

/// Fields that the protocol may set, now or in a revision to come.
bool is_of_mcp(std::string_view name) {
  constexpr std::string_view prefix = "Mcp-";
  return name.size() >= prefix.size() && http::same_name(name.substr(0, prefix.size()), prefix);
}

}  // namespace

HttpTransport::Impl::Impl(Loop& loop_, HttpTransportOptions options_)
    : loop(loop_),
      options(std::move(options_)),
      parse_options(json::ParseOptions::from(options.limits)),
      client(loop, {.limits = options.limits,
                    .proxy_from_environment = options.proxy_from_environment,
                    .proxies = options.proxies,
                    .tls = options.tls}),
      closing(loop) {}

// Sending.

void HttpTransport::Impl::send(const rpc::Outbound& message) {
  std::string body = message.begin == 0 ? std::exchange(out, {}) : out.substr(message.begin);
  out.resize(message.begin);
  rpc::MessageFields fields = message.fields ? *message.fields : rpc::MessageFields{};
  if (phase != Phase::open) return;
  if (message.kind != rpc::Outbound::Kind::unknown) {
    return post(detail::web::describe_outgoing(std::move(body), message), std::move(fields));
  }
  const auto parsed = outgoing.parse(body, {.depth = 10'000});
  if (parsed) {
    Outgoing described = detail::web::read_outgoing(std::move(body), *parsed);
    if (described.is(Operation::call_tool) && described.name) {
      tools.add_fields(described.param_fields, *described.name,
                       parsed->find("params").find("arguments"));
    }
    return post(std::move(described), std::move(fields));
  }
  const Error why =
      rpc::parse_error("nothing was sent, because it is no JSON: " + parsed.error().message);
  options.log.error(why.message);
  if (auto id = detail::web::id_in_broken(body)) {
    Outgoing broken;
    broken.ids.push_back(*std::move(id));
    refuse(add(std::move(broken), {}), why);
  }
}

HttpTransport::Impl::PostPtr HttpTransport::Impl::add(Outgoing message, rpc::MessageFields fields) {
  const auto made = std::make_shared<Post>(*this, std::move(message), std::move(fields));
  posts.insert(made);
  for (const rpc::Id& id : made->waiting()) by_id.insert_or_assign(id, made);
  return made;
}

/// Not at once: whoever sends it does not expect an answer before it is sent.
void HttpTransport::Impl::refuse(const PostPtr& post, Error why) {
  loop.post([weak = std::weak_ptr(post), why = std::move(why)] {
    if (const auto refused = weak.lock()) refused->fail(why);
  });
}

void HttpTransport::Impl::post(Outgoing message, rpc::MessageFields fields) {
  if (message.is(Operation::cancelled) && cancel(message)) return;
  if (message.is(Operation::initialize)) {
    session.clear();
    revision.clear();
    stateless_revision.clear();
  }
  if (message.stateless()) stateless_revision = message.revision;
  std::optional<Error> error;
  for (const auto& [name, value] : fields) {
    if (!http::is_token(name) || !http::is_field_value(value)) {
      error = rpc::invalid_params("the header " + json::quote(name) + " cannot be sent");
    }
  }
  if (lost) error = lost;
  if (unsent > 4 * options.limits.output_queue_bytes) {
    error =
        Error{.code = rpc::code::busy,
              .message = std::to_string(unsent) + " bytes are waiting for the server already; " +
                         json::quote(message.method) + " was not sent",
              .cause = Cause::busy};
  }
  if (error && message.ids.empty()) return options.log.error(error->message);
  const PostPtr made = add(std::move(message), std::move(fields));
  if (error) return refuse(made, *std::move(error));
  made->unsent_bytes = made->message().body.size();
  unsent += made->unsent_bytes;
  if (made->message().is(Operation::initialized)) greeting = true;
  // What wants no answer never waits: a request of the server may depend on it.
  if (!made->wants_answer()) return start(made);
  waiting.push_back(made);
  start_waiting();
  if (!waiting_held || made->started()) return;
  // Not before whoever sends it knows that it is sent.
  loop.post([core = weak_from_this(), weak = std::weak_ptr(made)] {
    const auto self = core.lock();
    const auto late = weak.lock();
    if (self && late && self->waiting_held && !late->started()) late->hold(true);
  });
}

/// Not before the handshake is over: some servers refuse requests that overtake its last word.
void HttpTransport::Impl::start_waiting() {
  while (!waiting.empty() && !greeting && running < most_running && phase == Phase::open) {
    const PostPtr next = std::move(waiting.front());
    waiting.pop_front();
    start(next);
  }
}

void HttpTransport::Impl::start(const PostPtr& post) {
  post->hold(false);
  if (counts(*post)) {
    post->running = true;
    ++running;
  }
  post->start();
}

bool HttpTransport::Impl::leave(Post& post) noexcept {
  if (!std::exchange(post.running, false)) return false;
  --running;
  if (post.held()) --running_held;
  return true;
}

void HttpTransport::Impl::held(Post& post) {
  if (post.running) post.held() ? ++running_held : --running_held;
  if (post.message().is(Operation::initialized)) greeting_held = post.held();
  hold_waiting();
}

bool HttpTransport::Impl::is_stuck() const noexcept {
  return greeting_held || running_held == most_running;
}

void HttpTransport::Impl::hold_waiting() {
  const bool stuck = is_stuck();
  if (std::exchange(waiting_held, stuck) == stuck) return;
  const auto all = waiting;
  for (const PostPtr& post : all) post->hold(stuck);
}

/// Takes back a request. In the stateless era ending the connection says it all; true then.
bool HttpTransport::Impl::cancel(const Outgoing& message) {
  const auto found = message.cancels ? by_id.find(*message.cancels) : by_id.end();
  if (found == by_id.end()) return revision.empty();
  const PostPtr post = found->second;
  const bool unknown = std::ranges::find(waiting, post) != waiting.end();
  by_id.erase(found);
  post->settle(*message.cancels);
  if (post->wants_answer()) return false;  // to others of a batch
  post->drop();
  finished(*post);
  return unknown || post->refused() || post->message().stateless();
}

http::Fields HttpTransport::Impl::fields_for(const Outgoing& message,
                                             const rpc::MessageFields& more) const {
  http::Fields fields = options.headers;
  for (const auto& [name, value] : more) fields.set(name, value);
  fields.set("Content-Type", detail::web::json_type);
  fields.set("Accept", "application/json, text/event-stream");
  fields.set("Accept-Encoding", "identity");
  const bool stateless =
      message.stateless() ||
      (revision.empty() && !message.is(Operation::initialize) && !stateless_revision.empty());
  if (!stateless) {
    if (!message.is(Operation::initialize)) add_session(fields);
    return fields;
  }
  fields.set(mcp::header::protocol_version,
             message.stateless() ? message.revision : stateless_revision);
  if (!message.method.empty()) {
    fields.set(mcp::header::method, mcp::header_value(message.method));
  }
  if (message.name) fields.set(mcp::header::name, mcp::header_value(*message.name));
  for (const auto& [name, value] : message.param_fields) fields.set(name, value);
  return fields;
}

void HttpTransport::Impl::add_session(http::Fields& fields) const {
  if (over_sse()) return;
  if (!session.empty()) fields.set(mcp::header::session, session);
  if (!revision.empty()) fields.set(mcp::header::protocol_version, revision);
}

void HttpTransport::Impl::authorize(http::HttpRequest& request) const {
  if (!options.authorizer) return;
  request.authorizer = options.authorizer;
  request.is_reserved = is_of_mcp;
}

http::HttpRequest HttpTransport::Impl::get() const {
  http::HttpRequest request;
  request.url = options.url;
  request.fields = options.headers;
  request.fields.set("Accept", detail::web::sse_type);
  request.fields.set("Accept-Encoding", "identity");
  request.fields.set("Cache-Control", "no-cache");
  add_session(request.fields);
  return request;
}

// The session.

void HttpTransport::Impl::lose_session(std::string why, int status) {
  if (lost) return;
  const auto self = shared_from_this();
  lost = mcp::carrier_error(std::move(why), {.status = status, .session_ended = true});
  session.clear();
  if (stream) stream->drop();
  const auto never_sent = std::exchange(waiting, {});
  for (const PostPtr& each : never_sent) each->fail(*lost);
  // Others under way will learn the same.
  const Duration patience = by_id.empty() ? Duration(0) : longest_farewell;
  if (phase == Phase::open) closing.start(patience, [this] { end_lost(); });
}

/// What is still under way may have been executed, and its outcome must not say that it was not.
/// What comes now is not sent.
void HttpTransport::Impl::end_lost() {
  const auto self = shared_from_this();
  const Error unknown = mcp::carrier_error(lost->message);
  const auto last = posts;
  for (const PostPtr& post : last)
    post->fail(post->started() && !post->refused() ? unknown : *lost);
  end(*lost);
}

void HttpTransport::Impl::session_ended() {
  lose_session("the server ended the session (HTTP 404); begin a new one", 404);
}

// What is under way.

void HttpTransport::Impl::sent(Post& post) { unsent -= std::exchange(post.unsent_bytes, 0); }

void HttpTransport::Impl::release(Post& post) {
  if (!leave(post)) return;
  hold_waiting();
  start_waiting();
}

void HttpTransport::Impl::finished(Post& post) {
  const auto found = posts.find(std::static_pointer_cast<Post>(post.shared_from_this()));
  if (found == posts.end()) return;
  const PostPtr over = *found;
  forget(over);
  if (post.message().is(Operation::initialized)) greeted(false);
  hold_waiting();
  start_waiting();
  tell_flushed();
  // Later, because the answer may just be on its way to the receiver.
  if (lost && by_id.empty() && phase == Phase::open) {
    closing.start(Duration(0), [this] { end_lost(); });
  }
}

void HttpTransport::Impl::greeted(bool accepted) {
  if (!std::exchange(greeting, false)) return;
  greeting_held = false;
  hold_waiting();
  if (accepted && phase == Phase::open && !over_sse()) {
    stream = std::make_shared<detail::web::ServerStream>(*this);
    stream->start();
  }
  start_waiting();
}

void HttpTransport::Impl::forget(const PostPtr& post) {
  sent(*post);
  leave(*post);
  std::erase(waiting, post);
  for (const rpc::Id& id : post->waiting()) {
    const auto found = by_id.find(id);
    if (found != by_id.end() && found->second == post) by_id.erase(found);
  }
  posts.erase(post);
}

void HttpTransport::Impl::try_sse(Post& post, Error why) {
  sse = std::make_shared<detail::web::SseStream>(
      *this, std::static_pointer_cast<Post>(post.shared_from_this()), std::move(why));
  sse->start();
}

// The end.

bool HttpTransport::Impl::is_flushed() const noexcept {
  return phase == Phase::closed ||
         std::ranges::all_of(posts, [](const PostPtr& post) { return counts(*post); });
}

void HttpTransport::Impl::when_flushed(Function<void()> done) {
  flushed = std::move(done);
  tell_flushed();
}

void HttpTransport::Impl::tell_flushed() {
  if (!is_flushed()) return;
  if (phase == Phase::closing) end_session();
  if (!flushed) return;
  loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    if (auto done = std::exchange(self->flushed, nullptr)) done();
  });
}

void HttpTransport::Impl::drop_all() noexcept {
  if (stream) stream->drop();
  if (sse) sse->drop();
  waiting.clear();
  // Neither drop() nor forget() touches any other: the next one stays where it is.
  for (auto next = posts.begin(); next != posts.end();) {
    const PostPtr post = *next++;
    if (phase == Phase::closing && post->message().ids.empty()) continue;  // it may still arrive
    post->drop();
    forget(post);
  }
}

void HttpTransport::Impl::close() {
  if (phase != Phase::open) return;
  phase = Phase::closing;
  reason = rpc::connection_closed("the connection was closed here");
  drop_all();
  closing.start(std::min(longest_farewell, options.limits.eof_grace), [this] { tell_closed(); });
  tell_flushed();
}

/// The server may free what it keeps for us.
void HttpTransport::Impl::end_session() {
  if (farewell.active()) return;
  if (session.empty()) return closing.start(Duration(0), [this] { tell_closed(); });
  http::HttpRequest request = get();
  request.method = "DELETE";
  request.fields.remove("Accept");
  request.follow_redirects = true;
  authorize(request);
  session.clear();
  farewell = client.fetch(std::move(request), {.on_end = [this](const Result<void>&) {
                            tell_closed();  // whatever it said
                          }});
}

void HttpTransport::Impl::end(Error why) {
  if (phase != Phase::open) return;
  phase = Phase::closed;
  reason = std::move(why);
  drop_all();
  closing.start(Duration(0), [this] { tell_closed(); });
}

void HttpTransport::Impl::tell_closed() {
  const auto self = shared_from_this();
  phase = Phase::closed;
  closing.cancel();
  drop_all();
  client.close_idle();
  tell_flushed();
  if (rpc::Receiver* const to = std::exchange(receiver, nullptr)) to->on_close(reason);
}

void HttpTransport::Impl::abandon() {
  receiver = nullptr;
  flushed = nullptr;
  phase = Phase::closed;
  drop_all();
  closing.cancel();
  farewell.cancel();
}

// The public face.

HttpTransport::HttpTransport(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

std::unique_ptr<HttpTransport> HttpTransport::make(Loop& loop, HttpTransportOptions options) {
  return std::unique_ptr<HttpTransport>(
      new HttpTransport(std::make_shared<Impl>(loop, std::move(options))));
}

HttpTransport::~HttpTransport() { impl_->abandon(); }

std::string& HttpTransport::output() { return impl_->out; }
void HttpTransport::finish(const rpc::Outbound& message) { impl_->send(message); }
void HttpTransport::flush() {}
void HttpTransport::start(rpc::Receiver& receiver) { impl_->receiver = &receiver; }
void HttpTransport::when_flushed(Function<void()> done) { impl_->when_flushed(std::move(done)); }
void HttpTransport::close() { impl_->close(); }

bool HttpTransport::is_session_ended(const Error& error) {
  const auto failure = mcp::carrier_failure(error);
  return failure && failure->session_ended;
}

bool HttpTransport::is_passing(const Error& error) {
  const auto failure = mcp::carrier_failure(error);
  return failure && (failure->status == 0 || failure->status == 429 || failure->status >= 500);
}

}  // namespace godwit::inline v0
