// Any allocation of an RpcServer or a Connection may fail: the request or the connection that
// needed it fails, the next one works, nothing is left behind, and what is asked has an outcome.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "blocking_client.hpp"
#include "fail_allocations.hpp"
#include "godwit/rpc/reply.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/memory.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "websocket_frames.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::BlockingClient;

struct Text {
  std::string text{};
};

/// A server whose loop has a thread of its own.
class Served {
 public:
  Served() : server_(loop_, router(), rpc::PeerOptions{.log = Log()}) {
    test::own_thread = true;
    http = server_.listen_http({"127.0.0.1", 0}).value();
    ws = server_.listen_ws({"127.0.0.1", 0}).value();
    thread_ = std::thread([this] {
      const Loop::Work work(loop_);
      loop_.run(Log());
    });
  }
  ~Served() {
    loop_.stop();
    thread_.join();
  }

  /// Waits, since the server may be a little behind its clients.
  void expect_nothing_left() {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (connections() > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(connections(), 0u);
  }

  std::string http, ws;

 private:
  std::shared_ptr<rpc::Router> router() {
    auto made = std::make_shared<rpc::Router>();
    made->on("echo", [](Text in) { return in.text; });
    made->on("later", [this](Text in, rpc::Reply<std::string> reply) {
      loop_.post([text = std::move(in.text), answer = std::move(reply)]() mutable {
        answer(std::move(text));
      });
    });
    return made;
  }
  std::size_t connections() {
    std::promise<std::size_t> promise;
    loop_.post([&] { promise.set_value(server_.connections()); });
    return promise.get_future().get();
  }

  Loop loop_;
  RpcServer server_;
  std::thread thread_;
};

std::string call(std::string_view method) {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) +
         R"(","params":{"text":"a text that is too long for a small string"}})";
}

bool is_answer(std::string_view text) { return text.find("a text that") != text.npos; }

/// True if everything was answered.
bool http_round(const Served& served) {
  BlockingClient client(served.http);
  for (const char* method : {"echo", "later", "echo"}) {
    const std::string body = call(method);
    client.send("POST / HTTP/1.1\r\nHost: " + served.http +
                "\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    const BlockingClient::Response response = client.response();
    if (response.status != 200 || !is_answer(response.body)) return false;
  }
  return true;
}

bool websocket_round(const Served& served) {
  BlockingClient client(served.ws);
  client.send("GET / HTTP/1.1\r\nHost: " + served.ws +
              "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  if (!client.until("\r\n\r\n").starts_with("HTTP/1.1 101")) return false;
  for (const char* method : {"echo", "later", "echo"}) {
    client.send(test::ws_frame(call(method)));
    if (!is_answer(client.until("}"))) return false;
  }
  client.send(test::ws_close(1000));
  client.until("no such text");  // the end
  return true;
}

TEST(AllocationFailure, OfRequestsOverHttp) {
  Served served;
  const int failures = test::fail_each_allocation([&] { http_round(served); },
                                                  [&] { EXPECT_TRUE(http_round(served)); });
  EXPECT_GT(failures, 10);
}

TEST(AllocationFailure, OfWebSockets) {
  Served served;
  const int failures = test::fail_each_allocation([&] { websocket_round(served); },
                                                  [&] {
                                                    EXPECT_TRUE(websocket_round(served));
                                                    served.expect_nothing_left();
                                                  });
  EXPECT_GT(failures, 10);
}

TEST(AllocationFailure, OfAQuestion) {
  auto router = std::make_shared<rpc::Router>();
  router->on("shout", [](Text in) { return in.text + ", said louder than it was said before"; });
  rpc::PeerOptions options;
  options.log = Log([](LogLevel, std::string_view) {});
  for (const std::string_view method : {"shout", "a method that is not there"}) {
    const auto round = [&] {
      Loop loop;
      auto [near_end, far_end] = memory_pair(loop);
      const Connection server(loop, std::move(far_end), router, options);
      Connection client(loop, std::move(near_end), nullptr, options);
      std::optional<Result<std::string>> outcome;
      const bool returned = test::may_fail([&] {
        outcome = client.ask<std::string>(method, Text{.text = "a text of some length"},
                                          {.timeout = 10s});
      });
      EXPECT_EQ(returned, outcome.has_value());
    };
    EXPECT_GT(test::fail_each_allocation(round, [] {}), 3);
  }
}

struct Ends final : rpc::Receiver {
  void on_message(std::string_view message, std::size_t) override { last = message; }
  void on_unreadable(const Error&) override {}
  void on_close(const Error& why) override { closed = why.message.empty() ? "?" : why.message; }

  std::string last;
  std::string closed;
};

// Both sides learn of the end, whatever had no memory on the way there.
TEST(AllocationFailure, OfTransportsInMemory) {
  const std::string text(100, 'x');
  const auto round = [&] {
    Loop loop;
    auto [near_end, far_end] = memory_pair(loop);
    Ends here, there;
    far_end->start(there);
    near_end->start(here);
    const bool said = test::may_fail([&] {
      for (int i = 0; i < 3; ++i) {
        const std::size_t begin = near_end->output().size();
        near_end->output() += text;
        near_end->finish({.begin = begin, .kind = rpc::Outbound::Kind::notification});
      }
    });
    test::may_fail([&] { loop.poll(); });
    if (said && there.closed.empty()) {
      EXPECT_EQ(there.last, text);
    }
    test::may_fail([&] { near_end->close(); });
    for (int i = 0; i < 10; ++i) loop.poll();
    EXPECT_NE(here.closed, "");
    EXPECT_NE(there.closed, "");
  };
  EXPECT_GT(test::fail_each_allocation(round, [] {}), 3);
}

}  // namespace
}  // namespace godwit::inline v0
