// Transports, connections and servers of JSON-RPC may be destroyed inside any of their callbacks.
#include "destroyed_inside.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_exchange.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/rpc/reply.hpp"
#include "godwit/transport/command.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/rpc_endpoint.hpp"
#include "godwit/transport/rpc_http.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/stream_transport.hpp"
#include "godwit/transport/websocket.hpp"
#include "receiver.hpp"
#include "wait.hpp"

namespace godwit {
namespace {

using test::DestroyedInside;
using test::Doomed;
using test::run_until;
using test::settle;

// --- transports

enum class Call { message, unreadable, failure, close, flushed };

/// Destroys the transport that calls it.
struct Destroyer final : rpc::Receiver {
  Destroyer(Doomed<rpc::Transport>& owner, Call where) : transport(owner), in(where) {}
  void on_message(std::string_view, std::size_t) override { called(Call::message); }
  void on_unreadable(const Error&) override { called(Call::unreadable); }
  void on_failure(const rpc::Id&, const Error&) override { called(Call::failure); }
  void on_close(const Error&) override { called(Call::close); }
  void called(Call what) {
    EXPECT_EQ(transport.destroyed(), 0) << "called after it was destroyed";
    if (what == in) transport.destroy();
  }
  Doomed<rpc::Transport>& transport;
  const Call in;
};

/// Two ends of a connection on one loop.
TransportPair memory(Loop& loop, const Limits& limits) { return memory_pair(loop, limits); }

std::pair<Stream, Stream> streams(Loop& loop) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {*Stream::open(loop, Descriptor(ends[0])), *Stream::open(loop, Descriptor(ends[1]))};
}
TransportPair socket(Loop& loop, const Limits& limits) {
  auto [near, far] = streams(loop);
  return {std::make_unique<StreamTransport>(loop, std::move(near), Framing::newline, limits),
          std::make_unique<StreamTransport>(loop, std::move(far))};
}
TransportPair websocket(Loop& loop, const Limits& limits) {
  auto [near, far] = streams(loop);
  return {std::make_unique<WebSocketTransport>(loop, std::move(near), WebSocketSide::server, "",
                                               WebSocketOptions{.limits = limits}),
          std::make_unique<WebSocketTransport>(loop, std::move(far), WebSocketSide::client, "",
                                               WebSocketOptions{})};
}

template <TransportPair (*make)(Loop&, const Limits&), Call call>
void transport() {
  Loop loop;
  auto [near, far] = make(loop, {.message_bytes_in = 100});
  Doomed<rpc::Transport> doomed;
  Destroyer receiver(doomed, call);
  test::Recorder other;
  doomed.take(std::move(near));
  doomed->start(receiver);
  far->start(other);
  switch (call) {
    case Call::message:
      for (int i = 0; i < 3; ++i) test::send(*far, "{}");
      break;
    case Call::unreadable:
      test::send(*far, std::string(1000, 'x'));
      test::send(*far, "{}");
      break;
    case Call::close:
      far->close();
      break;
    default:
      test::send(*doomed, "{}");
      doomed->when_flushed(doomed.destroyer());
      break;
  }
  EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
  settle(loop);
}

void write_failure() {
  Loop loop;
  auto [near, far] = streams(loop);
  Doomed<StreamTransport> doomed;
  test::Recorder receiver;
  doomed.make(loop, std::move(near)).start(receiver);
  doomed->on_write_failure(doomed.destroyer());
  far.close();
  test::send(*doomed, std::string(1u << 20, 'x'));
  EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
  settle(loop);
}

template <Call call>
void command() {
  Loop loop;
  auto spawned = CommandTransport::spawn(loop, {.argv = {"cat"}});
  ASSERT_TRUE(spawned) << spawned.error().message;
  Doomed<rpc::Transport> doomed;
  Destroyer receiver(doomed, call);
  doomed.take(*std::move(spawned));
  doomed->start(receiver);
  test::send(*doomed, "{}");
  if (call == Call::flushed) doomed->when_flushed(doomed.destroyer());
  if (call == Call::close) doomed->close();
  EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
  settle(loop);
}

// --- JSON-RPC over HTTP

std::string request(int id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"("})";
}

/// A client that posts to a server on the same loop.
template <Call call>
void rpc_http() {
  Loop loop;
  auto router = std::make_shared<rpc::Router>();
  router->on("m", [] { return 1; });
  RpcServer server(loop, router);
  const std::string address = server.listen_http({"127.0.0.1", 0}).value();
  Doomed<rpc::Transport> doomed;
  Destroyer receiver(doomed, call);
  const bool fails = call == Call::failure;
  doomed.take(connect_http(loop, *http::Url::parse("http://" + address + (fails ? "/no" : "/rpc")),
                           {.client = {.proxies = http::Proxies{}}}));
  doomed->start(receiver);
  if (fails) server.close();
  test::send(*doomed, "[" + request(1, "m") + "," + request(2, "m") + "]");
  test::send(*doomed, request(3, "m"));
  if (call == Call::flushed) doomed->when_flushed(doomed.destroyer());
  if (call == Call::close) doomed->close();
  EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
  settle(loop);
}
void rpc_http_log() {
  Loop loop;
  Doomed<rpc::Transport> doomed;
  Destroyer receiver(doomed, Call::close);
  doomed.take(
      connect_http(loop, *http::Url::parse("http://127.0.0.1:1/rpc"),
                   {.client = {.proxies = http::Proxies{}}, .log = Log(doomed.destroyer())}));
  doomed->start(receiver);
  test::send(*doomed, R"({"jsonrpc":"2.0","method":"may be lost"})");
  EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
  settle(loop);
}

// --- a connection

/// One that is destroyed, with handlers and a call under way, and its other end.
struct Pair {
  void open() {
    options.log = Log();
    router->on("plain", [] { return 1; });
    router->on("late", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    router->on("destroy", [this] {
      doomed.destroy();
      return 1;
    });
    auto [near, far] = memory_pair(loop);
    doomed.make(loop, std::move(near), router, options);
    doomed->peer().call("waits", rpc::no_params, [](Result<json::Value>) {});
    other.emplace(loop, std::move(far), answers);
  }
  void call(std::string_view method) {
    for (int i = 0; i < 2; ++i) {
      other->peer().call(method, rpc::no_params, [](Result<json::Value>) {});
    }
  }
  void late() {
    call("late");
    ASSERT_TRUE(run_until(loop, [&] { return replies.size() == 2; }));
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() > 0; }));
    settle(loop);
    EXPECT_EQ(doomed.destroyed(), 1);
  }

  Loop loop;
  rpc::PeerOptions options;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  std::shared_ptr<rpc::Router> answers = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> replies;
  Doomed<Connection> doomed;
  std::optional<Connection> other;
};

void connection_handler() {
  Pair pair;
  pair.open();
  pair.call("destroy");
  pair.expect_destroyed();
}
void connection_heard() {
  Pair pair;
  pair.open();
  pair.doomed->on_heard(pair.doomed.destroyer());
  pair.call("plain");
  pair.expect_destroyed();
}
void connection_closed() {
  for (const bool by_itself : {false, true}) {
    Pair pair;
    pair.open();
    pair.doomed->on_close(pair.doomed.destroyer());
    by_itself ? pair.doomed->close() : pair.other.reset();
    pair.expect_destroyed();
  }
}
void connection_outcome() {
  for (const bool closed : {false, true}) {
    Pair pair;
    pair.answers->on("answer", [] { return 1; });
    pair.open();
    pair.doomed->peer().call(closed ? "waits" : "answer", rpc::no_params, pair.doomed.destroyer());
    if (closed) pair.doomed->abort();
    pair.expect_destroyed();
  }
}
void connection_timeout() {
  Pair pair;
  std::optional<rpc::Reply<int>> never;
  pair.answers->on("never", [&](rpc::Reply<int> reply) { never.emplace(std::move(reply)); });
  pair.open();
  pair.doomed->peer().call("never", rpc::no_params, pair.doomed.destroyer(),
                           {.timeout = std::chrono::milliseconds(1)});
  pair.expect_destroyed();
}
void connection_stop() {
  for (const bool by_itself : {false, true}) {
    Pair pair;
    pair.open();
    pair.late();
    const std::stop_callback stop(pair.replies[0].cancelled(), pair.doomed.destroyer());
    by_itself ? pair.doomed->close() : pair.other.reset();
    pair.expect_destroyed();
    pair.replies.clear();
  }
}
void connection_reply() {
  Pair pair;
  pair.router->use({.after = [&](rpc::Outcome&) {
    if (pair.doomed.destroyed() == 0) pair.doomed.destroy();
  }});
  pair.open();
  pair.late();
  pair.replies[0](1);
  pair.expect_destroyed();
}
void connection_ended() {
  Pair pair;
  pair.options.ended = pair.doomed.destroyer();
  pair.open();
  pair.doomed->close();
  pair.expect_destroyed();
}

// --- the endpoint

/// An RpcEndpoint on an HTTP stack that asks nobody.
struct Desk {
  explicit Desk(RpcEndpointOptions endpoint = {}) {
    router->on("late", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    router->on("destroy", [this] {
      doomed.destroy();
      return 1;
    });
    router->on("throw", []() -> int { throw 1; });
    rpc::PeerOptions peer;
    peer.log = Log([this](auto&&...) { doomed.destroy(); });
    doomed.make(loop, router, std::move(peer), std::move(endpoint));
  }
  test::FakeExchange& send(std::string_view method) {
    test::FakeRequest from("POST", "/rpc");
    from.with("Host", "localhost").with("Content-Type", "application/json");
    from.body(request(1, method));
    test::FakeExchange& exchange = *exchanges.emplace_back(std::make_unique<test::FakeExchange>());
    doomed->on_request(from.get(), exchange);
    return exchange;
  }
  void expect_destroyed() {
    EXPECT_EQ(doomed.destroyed(), 1);
    settle(loop);
    for (const auto& each : exchanges) EXPECT_FALSE(each->waiting());
  }

  Loop loop;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> replies;
  std::vector<std::unique_ptr<test::FakeExchange>> exchanges;
  Doomed<RpcEndpoint> doomed;
};

void endpoint_handler() {
  Desk desk;
  desk.send("late");
  desk.send("destroy");
  desk.expect_destroyed();
}
void endpoint_stop_by_client() {
  Desk desk;
  desk.send("late");
  test::FakeExchange& exchange = desk.send("late");
  const std::stop_callback stop(desk.replies.at(1).cancelled(), desk.doomed.destroyer());
  exchange.go();
  desk.expect_destroyed();
}
void endpoint_stop_by_drain() {
  Desk desk;
  for (int i = 0; i < 3; ++i) desk.send("late");
  const std::stop_callback stop(desk.replies.at(1).cancelled(), desk.doomed.destroyer());
  desk.doomed->drain();
  desk.expect_destroyed();
}
void endpoint_log() {
  Desk desk;
  desk.send("throw");
  desk.expect_destroyed();
}
/// Whoever decides: asked with the whole request, or with the head.
template <bool head>
void endpoint_admission() {
  std::function<void()> destroy;
  Desk desk({.admission = http::make_admission([&](const http::Request&, http::Decision& decision) {
               destroy();
               decision.admit();
             })});
  destroy = desk.doomed.destroyer();
  if (head) {
    test::FakeRequest from("POST", "/rpc");
    from.with("Host", "localhost").with("Content-Type", "application/json");
    http::Decision decision;
    desk.doomed->on_head(from.get(), decision);
  } else {
    desk.send("late");
  }
  desk.expect_destroyed();
}
void endpoint_late_admission() {
  std::optional<http::LateDecision> late;
  Desk desk({.admission = http::make_admission([&](const http::Request&, http::Decision& decision) {
               late.emplace(decision.later());
             })});
  desk.send("destroy");
  late->admit();
  settle(desk.loop);
  desk.expect_destroyed();
}

// --- the server

struct Hosting {
  void open(rpc::PeerOptions options = {}) {
    options.log = Log();
    router->on("destroy", [this] {
      doomed.destroy();
      return 1;
    });
    router->on("late", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    doomed.make(loop, router, std::move(options));
  }
  /// Clients of each kind, which call this.
  void connect(std::string_view method) {
    const Address any{"127.0.0.1", 0};
    const std::string http = doomed->listen_http(any).value();
    const std::string tcp = doomed->listen_tcp(any).value();
    clients.push_back(std::make_unique<Connection>(
        loop, connect_http(loop, *http::Url::parse("http://" + http + "/rpc"),
                           {.client = {.proxies = http::Proxies{}}})));
    const Connector attempt = connect_tcp(
        loop, *Address::parse(tcp), [&](Result<std::unique_ptr<rpc::Transport>> transport) {
          clients.push_back(std::make_unique<Connection>(loop, *std::move(transport)));
        });
    ASSERT_TRUE(run_until(loop, [&] { return clients.size() == 2; }));
    for (const auto& each : clients) {
      each->peer().call(method, rpc::no_params, [](Result<json::Value>) {});
    }
  }
  void expect_destroyed() {
    EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() > 0; }));
    settle(loop);
    EXPECT_EQ(doomed.destroyed(), 1);
  }

  Loop loop;
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>();
  std::vector<rpc::Reply<int>> replies;
  std::vector<std::unique_ptr<Connection>> clients;
  Doomed<RpcServer> doomed;
};

void server_handler() {
  Hosting hosting;
  hosting.open();
  hosting.connect("destroy");
  hosting.expect_destroyed();
}
void server_stop() {
  Hosting hosting;
  hosting.open();
  hosting.connect("late");
  ASSERT_TRUE(run_until(hosting.loop, [&] { return hosting.replies.size() == 2; }));
  const std::stop_callback stop(hosting.replies[0].cancelled(), hosting.doomed.destroyer());
  hosting.doomed->close();
  hosting.expect_destroyed();
  hosting.replies.clear();
}
void server_closed() {
  Hosting hosting;
  hosting.open();
  hosting.connect("late");
  hosting.doomed->on_closed(hosting.doomed.destroyer());
  hosting.doomed->close();
  hosting.replies.clear();
  hosting.expect_destroyed();
}
void server_attach_in_serve() {
  Hosting hosting;
  rpc::PeerOptions options;
  options.attach = [&](rpc::Peer&) {
    hosting.doomed.destroy();
    return std::shared_ptr<void>();
  };
  hosting.open(std::move(options));
  auto [near, far] = memory_pair(hosting.loop);
  hosting.doomed->serve(std::move(near));
  hosting.expect_destroyed();
}
void server_attach_in_accept() {
  Hosting hosting;
  rpc::PeerOptions options;
  options.attach = [&](rpc::Peer&) {
    if (hosting.doomed.destroyed() == 0) hosting.doomed.destroy();
    return std::shared_ptr<void>();
  };
  hosting.open(std::move(options));
  const std::string tcp = hosting.doomed->listen_tcp({"127.0.0.1", 0}).value();
  const Connector attempt = connect_tcp(hosting.loop, *Address::parse(tcp), [](auto&&) {});
  hosting.expect_destroyed();
}
void server_ended() {
  Hosting hosting;
  rpc::PeerOptions options;
  options.ended = [&](const Error&) {
    if (hosting.doomed.destroyed() == 0) hosting.doomed.destroy();
  };
  hosting.open(std::move(options));
  auto [near, far] = memory_pair(hosting.loop);
  hosting.doomed->serve(std::move(near));
  hosting.doomed->close();
  hosting.expect_destroyed();
}

void websocket_connector() {
  for (const bool nobody : {false, true}) {
    Loop loop;
    RpcServer server(loop, std::make_shared<rpc::Router>());
    const std::string address = server.listen_ws({"127.0.0.1", 0}).value();
    const http::Url url = *http::Url::parse("ws://" + (nobody ? "127.0.0.1:1" : address) + "/rpc");
    Doomed<WebSocketConnector> doomed;
    doomed.make(connect_websocket(loop, url, doomed.destroyer(), {.proxies = http::Proxies{}}));
    EXPECT_TRUE(run_until(loop, [&] { return doomed.destroyed() == 1; }));
    settle(loop);
  }
}

constexpr DestroyedInside rows[] = {
    {"memory transport", "on_message", transport<memory, Call::message>},
    {"memory transport", "on_unreadable", transport<memory, Call::unreadable>},
    {"memory transport", "on_close", transport<memory, Call::close>},
    {"memory transport", "when_flushed", transport<memory, Call::flushed>},
    {"StreamTransport", "on_message", transport<socket, Call::message>},
    {"StreamTransport", "on_unreadable", transport<socket, Call::unreadable>},
    {"StreamTransport", "on_close", transport<socket, Call::close>},
    {"StreamTransport", "when_flushed", transport<socket, Call::flushed>},
    {"StreamTransport", "on_write_failure", write_failure},
    {"WebSocketTransport", "on_message", transport<websocket, Call::message>},
    {"WebSocketTransport", "on_close", transport<websocket, Call::close>},
    {"WebSocketTransport", "when_flushed", transport<websocket, Call::flushed>},
    {"WebSocketConnector", "done", websocket_connector},
    {"CommandTransport", "on_message", command<Call::message>},
    {"CommandTransport", "on_close", command<Call::close>},
    {"CommandTransport", "when_flushed", command<Call::flushed>},
    {"connect_http", "on_message", rpc_http<Call::message>},
    {"connect_http", "on_failure", rpc_http<Call::failure>},
    {"connect_http", "on_close", rpc_http<Call::close>},
    {"connect_http", "when_flushed", rpc_http<Call::flushed>},
    {"connect_http", "log", rpc_http_log},
    {"Connection", "handler", connection_handler},
    {"Connection", "after a late reply", connection_reply},
    {"Connection", "stop of a request", connection_stop},
    {"Connection", "outcome of a call", connection_outcome},
    {"Connection", "timeout of a call", connection_timeout},
    {"Connection", "on_heard", connection_heard},
    {"Connection", "ended", connection_ended},
    {"Connection", "on_close", connection_closed},
    {"RpcEndpoint", "handler", endpoint_handler},
    {"RpcEndpoint", "stop by the client", endpoint_stop_by_client},
    {"RpcEndpoint", "stop by drain", endpoint_stop_by_drain},
    {"RpcEndpoint", "admission of a head", endpoint_admission<true>},
    {"RpcEndpoint", "admission of a request", endpoint_admission<false>},
    {"RpcEndpoint", "handler after LateDecision", endpoint_late_admission},
    {"RpcEndpoint", "log", endpoint_log},
    {"RpcServer", "handler", server_handler},
    {"RpcServer", "stop of a request", server_stop},
    {"RpcServer", "on_closed", server_closed},
    {"RpcServer", "attach in serve", server_attach_in_serve},
    {"RpcServer", "attach in accept", server_attach_in_accept},
    {"RpcServer", "ended", server_ended},
};

struct Destroyed : testing::TestWithParam<DestroyedInside> {};
TEST_P(Destroyed, Inside) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(Transport, Destroyed, testing::ValuesIn(rows), test::name_of);

}  // namespace
}  // namespace godwit
