#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "godwit/http/response_parser.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/transport/websocket.hpp"
#include "http/authorizer_question.hpp"
#include "http/dial.hpp"
#include "http/run_step.hpp"
#include "websocket_handshake.hpp"

namespace godwit::inline v0 {

/// First the connection, then the handshake on it. Shared because the stream that brings the
/// outcome is a member of it, and the program may destroy the connector when it is told.
struct WebSocketConnector::State final : Stream::Handler, std::enable_shared_from_this<State> {
  State(Loop& loop_, const http::Url& url_, OnConnected done_,
        const WebSocketConnectOptions& options_)
      : loop(loop_),
        url(url_),
        done(std::move(done_)),
        options(options_),
        timer(loop_),
        parser(options_.websocket.limits),
        key(detail::transport::websocket_key()),
        drop_stream(loop_, [this] { stream.reset(); }),
        again(loop_, [this] { http::run_step(*this, [&] { begin(); }); }) {}

  Loop& loop;
  http::Url url;
  OnConnected done;
  WebSocketConnectOptions options;
  std::optional<http::Dial> dial;
  Timer timer;
  http::ResponseParser parser;
  std::string key;
  std::string out;
  std::optional<Stream> stream;
  Wakeup drop_stream;
  Wakeup again;  // the next attempt
  bool over = false;

  /// With an authorizer.
  struct Authorization {
    Authorization(Loop& loop, Duration limit) : fields(loop, limit), decision(loop, limit) {}
    http::AuthorizerQuestion<http::Fields> fields;
    http::AuthorizerQuestion<http::AfterRefusal> decision;
    http::Fields given{};
    std::optional<http::Response> refusal{};
    std::size_t attempt = 0;
    bool deciding = false;  // the connection of the refusal is not listened to any more
  };
  std::optional<Authorization> authorization;

  bool is_over() const noexcept { return over; }
  void fail(Error why) { finish(std::move(why)); }

  void start() {
    ConnectOptions& connect = options.connect;
    if (url.secure() && !connect.tls) {
      auto context = TlsContext::client({.protocols = {"http/1.1"}});
      if (!context) return fail_later(std::move(context).error());
      connect.tls = *std::move(context);
    }
    if (!url.secure()) connect.tls.reset();
    options.fields.remove("Proxy-Authorization");  // for nobody else
    if (!options.authorizer) return handshake(options.fields);
    authorization.emplace(loop, options.websocket.limits.authorization_time);
    again.signal(shared_from_this());  // not inside this call
  }

  /// Writes the handshake, and connects.
  void handshake(const http::Fields& fields) {
    try {
      out = detail::transport::handshake_request(url, key, options.websocket.protocols, fields);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {  // a subprotocol or target that HTTP cannot carry
      return fail_later(
          error(std::string("the WebSocket handshake cannot be written: ") + e.what()));
    }
    http::Proxies proxies = options.proxies.value_or(http::Proxies{});
    if (!options.proxies && options.proxy_from_environment) {
      proxies = http::Proxies::from_environment();
    }
    auto proxy = proxies.find(url);
    if (!proxy) return fail_later(std::move(proxy).error());
    http::DialOptions to{.proxy = *std::move(proxy),
                         .connect = options.connect,
                         .tunnel = true,
                         .limits = options.websocket.limits};
    dial.emplace(loop, url, std::move(to), [weak = weak_from_this()](Result<Stream> connection) {
      const auto self = weak.lock();
      if (self) http::run_step(*self, [&] { self->connected(std::move(connection)); });
    });
  }

  void connected(Result<Stream> connection) {
    if (!connection) return finish(std::move(connection).error());
    stream.emplace(*std::move(connection));
    stream->set_handler(*this);
    timer.start(options.websocket.limits.ws_handshake_time, [this] {
      http::run_step(*this, [&] {
        finish(error("the server did not answer the WebSocket handshake in time"));
      });
    });
    parser.begin("GET");
    write();
    if (!over) stream->resume();
  }

  // The authorizer.

  http::AuthorizerRequest described(std::stop_token stop = {}) const {
    return {.method = "GET",
            .url = url,
            .sent = authorization->given,
            .attempt = authorization->attempt,
            .stop = std::move(stop)};
  }

  /// An attempt, the first or another one.
  void begin() {
    if (over) return;
    stream.reset();
    dial.reset();
    parser = http::ResponseParser(options.websocket.limits);
    key = detail::transport::websocket_key();
    authorization->given = {};
    authorization->refusal.reset();
    authorization->deciding = false;
    authorization->fields.ask(
        [&](http::AuthorizerReply<http::Fields> reply, std::stop_token stop) {
          options.authorizer->authorize(described(std::move(stop)), std::move(reply));
        },
        [this](Result<http::Fields> given) {
          http::run_step(*this, [&] { take_fields(std::move(given)); });
        });
  }

  void take_fields(Result<http::Fields> given) {
    if (!given) return finish(http::not_authorized(std::move(given).error()));
    if (auto wrong = http::mistake_in(*given, nullptr)) {
      return finish(http::not_authorized(*std::move(wrong)));
    }
    authorization->given = *std::move(given);
    http::Fields all = options.fields;
    for (const auto& [name, value] : authorization->given) all.remove(name);
    for (const auto& [name, value] : authorization->given) all.add(name, value);
    handshake(all);
  }

  /// Whether the response is kept until the authorizer has decided.
  bool is_for_authorizer() {
    try {
      options.authorizer->on_response(described(), parser.status(), parser.fields());
    } catch (...) {
      finish(http::not_authorized(http::authorizer_threw()));
    }
    if (over || !http::is_refusal(parser.status())) return over;
    if (authorization->attempt >= options.websocket.limits.authorization_retries) return false;
    authorization->refusal.emplace(
        http::Response{.status = parser.status(), .fields = http::kept(parser.fields())});
    return true;
  }

  void take_refusal(std::string_view piece) {
    std::string& body = authorization->refusal->body;
    const std::size_t room = options.websocket.limits.refusal_body_bytes - body.size();
    body += piece.substr(0, room);
    if (piece.size() > room) decide();
  }

  void decide() {
    authorization->deciding = true;
    timer.cancel();
    stream->pause();
    drop_stream.signal(shared_from_this());  // not inside its callback
    authorization->decision.ask(
        [&](http::AuthorizerReply<http::AfterRefusal> reply, std::stop_token stop) {
          const http::Response& refusal = *authorization->refusal;
          options.authorizer->on_refused(
              described(std::move(stop)),
              {.status = refusal.status, .fields = refusal.fields, .body = refusal.body},
              std::move(reply));
        },
        [this](Result<http::AfterRefusal> decision) {
          http::run_step(*this, [&] { take_decision(std::move(decision)); });
        });
  }

  void take_decision(Result<http::AfterRefusal> decision) {
    if (!decision) return finish(http::not_authorized(std::move(decision).error()));
    if (*decision == http::AfterRefusal::fail) {
      return finish(detail::transport::not_switched(authorization->refusal->status));
    }
    ++authorization->attempt;
    again.signal(shared_from_this());
  }

  void give_up() noexcept {
    over = true;
    if (!authorization) return;
    authorization->fields.drop();
    authorization->decision.drop();
  }

  // The handshake.

  bool deaf() const noexcept { return over || (authorization && authorization->deciding); }

  void write() {
    if (deaf() || out.empty()) return;
    auto put = stream->write_some(out);
    if (!put) return;  // what the server said, or that it is gone, is seen when reading
    out.erase(0, *put);
  }
  void take_end(const Result<void>& how) {
    if (deaf()) return;
    if (how) {
      parser.finish();
      pump();
    }
    if (deaf()) return;
    if (authorization && authorization->refusal) return decide();
    if (!how) {
      finish(how.error());
    } else
      finish(error("the server closed the connection inside the WebSocket handshake"));
  }

  void on_writable() override {
    http::run_step(*this, [&] { write(); });
  }
  std::span<char> on_space() override {
    static thread_local char discarded[4096];
    std::span<char> space;
    http::run_step(*this, [&] { space = parser.prepare(); });
    return space.empty() ? discarded : space;
  }
  void on_data(std::size_t size) override {
    if (deaf()) return;
    http::run_step(*this, [&] {
      parser.commit(size);
      pump();
    });
  }
  void on_end(const Result<void>& how) override {
    http::run_step(*this, [&] { take_end(how); });
  }

  void pump() {
    using Event = http::ResponseParser::Event;
    while (!deaf()) {
      const Event event = parser.next();
      if (event == Event::none) return;
      const bool kept = authorization && authorization->refusal;
      if (kept && (event == Event::end || event == Event::failed)) return decide();
      if (event == Event::failed) return finish(parser.error());
      if (kept && event == Event::body) take_refusal(parser.body());
      if (event != Event::head) continue;
      if (authorization && is_for_authorizer()) continue;
      const auto& protocols = options.websocket.protocols;
      if (auto refused = detail::transport::handshake_refused(parser.status(), parser.fields(), key,
                                                              protocols)) {
        return finish(*std::move(refused));
      }
      std::string protocol(parser.fields().find("Sec-WebSocket-Protocol").value_or(""));
      stream->pause();
      // The end of the head is the end of the response.
      while (parser.next() == Event::body) {
      }
      const std::string rest(parser.rest());
      auto transport =
          std::make_unique<WebSocketTransport>(loop, std::move(*stream), WebSocketSide::client,
                                               rest, options.websocket, std::move(protocol));
      return finish(std::unique_ptr<rpc::Transport>(std::move(transport)));
    }
  }

  void fail_later(Error why) {
    loop.post([weak = weak_from_this(), why = std::move(why)]() mutable {
      if (const auto self = weak.lock()) self->finish(std::move(why));
    });
  }

  void finish(Result<std::unique_ptr<rpc::Transport>> outcome) {
    if (std::exchange(over, true)) return;
    timer.cancel();
    // The stream may be in the middle of a callback to this: all of it goes later.
    drop_stream.signal(shared_from_this());
    OnConnected call = std::exchange(done, nullptr);
    if (call) call(std::move(outcome));
  }
};

WebSocketConnector::WebSocketConnector(std::shared_ptr<State> state) noexcept
    : state_(std::move(state)) {}
WebSocketConnector::WebSocketConnector(WebSocketConnector&&) noexcept = default;
WebSocketConnector& WebSocketConnector::operator=(WebSocketConnector&& other) noexcept {
  if (this != &other) {
    if (state_) state_->give_up();
    state_ = std::move(other.state_);
  }
  return *this;
}
WebSocketConnector::~WebSocketConnector() {
  if (state_) state_->give_up();
}

WebSocketConnector connect_websocket(Loop& loop, const http::Url& url,
                                     WebSocketConnector::OnConnected done,
                                     const WebSocketConnectOptions& options) {
  auto state = std::make_shared<WebSocketConnector::State>(loop, url, std::move(done), options);
  state->start();
  return WebSocketConnector(std::move(state));
}

}  // namespace godwit::inline v0
