// Plain JSON-RPC over HTTP and WebSocket: RpcServer::listen_http and listen_ws, with bytes and with
// our own client at the other end.
#include "godwit/transport/rpc_http.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/reply.hpp"
#include "godwit/transport/connection.hpp"
#include "godwit/transport/rpc_server.hpp"
#include "godwit/transport/websocket.hpp"
#include "raw_end.hpp"
#include "receiver.hpp"
#include "test_certificates.hpp"
#include "wait.hpp"
#include "websocket_frames.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace godwit {
namespace {

using test::RawEnd;
using test::run_until;

struct Station {
  explicit Station(const Limits& limits = {}, const RpcHttpOptions& options = {}, bool ws = false) {
    router->on("double", {"n"}, [](int n) { return 2 * n; });
    router->on("fail", []() -> Result<int> { return Error{.code = 7, .message = "no"}; });
    router->on("note", [this](json::View) { ++notes; });
    router->on("slow", rpc::blocking([] {
                 std::this_thread::sleep_for(20ms);
                 return 1;
               }));
    router->on("later", [this](rpc::Reply<int> reply) { replies.push_back(std::move(reply)); });
    server.emplace(loop, router, rpc::PeerOptions{.limits = limits});
    const Address any{.host = "127.0.0.1", .port = 0};
    auto bound = ws ? server->listen_ws(any, options) : server->listen_http(any, options);
    EXPECT_TRUE(bound) << bound.error().message;
    address = bound.value();
  }

  std::optional<Stream> dial() {
    std::optional<Stream> stream;
    Connector connector(loop);
    connector.tcp(*Address::parse(address),
                  [&](Result<Stream> got) { stream.emplace(std::move(*got)); });
    EXPECT_TRUE(run_until(loop, [&] { return stream.has_value(); }));
    return stream;
  }
  std::string head(std::string_view method = "POST") const {
    return std::string(method) + " /rpc HTTP/1.1\r\nHost: " + address + "\r\n";
  }
  std::string post(std::string_view body, std::string_view more = "") const {
    return head() + "Content-Type: application/json\r\n" + std::string(more) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }
  /// What comes back, up to the end of the answer.
  std::string exchange(const std::string& request) {
    RawEnd raw(*dial());
    raw.say(request);
    EXPECT_TRUE(run_until(loop, [&] { return complete(raw.got); })) << raw.got;
    return raw.got;
  }
  static bool complete(const std::string& text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == text.npos) return false;
    const std::size_t at = text.find("Content-Length: ");
    if (at == text.npos || at > end) return true;
    return text.size() >= end + 4 + std::stoul(text.substr(at + 16));
  }

  http::Url url(std::string_view scheme = "http") const {
    return *http::Url::parse(std::string(scheme) + "://" + address + "/rpc");
  }

  std::atomic<int> notes = 0;
  std::vector<rpc::Reply<int>> replies;
  ThreadPool pool{2};
  std::shared_ptr<rpc::Router> router = std::make_shared<rpc::Router>(&pool);
  Loop loop;
  std::optional<RpcServer> server;
  std::string address;
};

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

// --- the server

TEST(RpcHttpServer, AnswersAndTheirStatus) {
  Station station;
  const struct {
    const char* send;
    const char* status;
    const char* answer;
  } cases[] = {
      {R"({"jsonrpc":"2.0","id":1,"method":"double","params":[4]})", "200 OK",
       R"({"jsonrpc":"2.0","id":1,"result":8})"},
      {R"({"jsonrpc":"2.0","id":"a","method":"slow"})", "200 OK",
       R"({"jsonrpc":"2.0","id":"a","result":1})"},
      {R"({"jsonrpc":"2.0","id":1,"method":"fail"})", "200 OK",
       R"({"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}})"},
      {R"([{"jsonrpc":"2.0","id":1,"method":"double","params":[4]},)"
       R"({"jsonrpc":"2.0","method":"note","params":[]},)"
       R"({"jsonrpc":"2.0","id":2,"method":"double","params":{"n":5}}])",
       "200 OK", R"([{"jsonrpc":"2.0","id":1,"result":8},{"jsonrpc":"2.0","id":2,"result":10}])"},
      {R"({"jsonrpc":"2.0","method":"note","params":[]})", "204 No Content", ""},
      {R"([{"jsonrpc":"2.0","method":"note","params":[]},)"
       R"({"jsonrpc":"2.0","method":"note","params":[]}])",
       "204 No Content", ""},
  };
  for (const auto& one : cases) {
    const std::string answer = station.exchange(station.post(one.send));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::string(one.status))) << one.send;
    EXPECT_EQ(body_of(answer), one.answer);
  }
  EXPECT_EQ(station.notes, 4);
}

TEST(RpcHttpServer, WhatIsNoRequestIs400) {
  Station station;
  const struct {
    const char* send;
    const char* code;
  } cases[] = {{"{\"jsonrpc\":", "-32700"},
               {"", "-32700"},
               {"[]", "-32600"},
               {"1", "-32600"},
               {R"({"jsonrpc":"2.0","id":1})", "-32600"}};
  for (const auto& one : cases) {
    const std::string answer = station.exchange(station.post(one.send));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << one.send;
    EXPECT_THAT(body_of(answer), HasSubstr(one.code)) << one.send;
  }
  const std::string unknown =
      station.exchange(station.post(R"({"jsonrpc":"2.0","id":1,"method":"nothing"})"));
  EXPECT_THAT(unknown, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(unknown, HasSubstr("-32601"));
  const std::string mixed = station.exchange(
      station.post(R"([1,{"jsonrpc":"2.0","id":1,"method":"double","params":[1]}])"));
  EXPECT_THAT(mixed, StartsWith("HTTP/1.1 200 "));
}

TEST(RpcHttpServer, WhatIsRefusedBeforeItIsRun) {
  Station station({}, {.path = "/rpc", .access = {.origins = {"https://friend.example"}}});
  const std::string note = R"({"jsonrpc":"2.0","method":"note","params":[]})";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = station.post(note);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos);
    return text.replace(at, from.size(), to);
  };
  const struct {
    std::string request;
    const char* status;
    const char* has;
  } cases[] = {
      {station.head("GET") + "\r\n", "405", "Allow: POST\r\n"},
      {station.head("DELETE") + "\r\n", "405", "Allow: POST\r\n"},
      {with("POST", "PUT"), "405", "Allow: POST\r\n"},
      {with("/rpc", "/other"), "404", ""},
      {with("application/json", "text/plain"), "415", "application/json"},
      {with("Content-Type: application/json\r\n", ""), "415", ""},
      {with(station.address, "evil.example"), "403", ""},
      {with(station.address, "127.0.0.1:1"), "403", ""},
      {station.post(note, "Origin: https://evil.example\r\n"), "403", ""},
      {station.post(note, "Origin: null\r\n"), "403", ""},
      {station.post(note, "Sec-Fetch-Site: cross-site\r\n"), "403", ""},
      {station.post(note, "Connection: Upgrade\r\nUpgrade: websocket\r\n"), "400", ""},
  };
  for (const auto& one : cases) {
    const std::string answer = station.exchange(one.request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 " + std::string(one.status))) << one.request;
    EXPECT_THAT(answer, HasSubstr(one.has)) << one.request;
  }
  EXPECT_EQ(station.notes, 0);
  // And what passes.
  for (const std::string& good :
       {with("application/json", "Application/JSON; charset=utf-8"), with("/rpc", "/rpc/"),
        with("/rpc", "/rpc?x"), station.post(note, "Origin: http://" + station.address + "\r\n")}) {
    EXPECT_THAT(station.exchange(good), StartsWith("HTTP/1.1 204 ")) << good;
  }
  const std::string friendly =
      station.exchange(station.post(note, "Origin: https://friend.example\r\n"));
  EXPECT_THAT(friendly, StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(friendly, HasSubstr("Access-Control-Allow-Origin: https://friend.example\r\n"));
  const std::string asked = station.exchange(station.head("OPTIONS") +
                                             "Origin: https://friend.example\r\n"
                                             "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_THAT(asked, StartsWith("HTTP/1.1 204 "));
  EXPECT_THAT(asked, HasSubstr("Access-Control-Allow-Methods: POST"));
}

TEST(RpcHttpServer, BodiesUpToTheLimit) {
  Station station({.message_bytes_in = 1000});
  const auto sized = [](std::size_t size) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"double","params":[1]})";
    return text + std::string(size - text.size(), ' ');
  };
  EXPECT_THAT(station.exchange(station.post(sized(999))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(station.exchange(station.post(sized(1000))), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(station.exchange(station.post(sized(1001))), StartsWith("HTTP/1.1 413 "));
}

TEST(RpcHttpServer, ManyRequestsOnOneConnection) {
  Station station;
  RawEnd raw(*station.dial());
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    const std::string method = i % 10 == 3 ? "slow" : "double";
    requests +=
        station.post(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":")" + method +
                     R"(","params":[)" + (i % 10 == 3 ? "" : std::to_string(i)) + "]}");
  }
  raw.say(requests);
  ASSERT_TRUE(run_until(
      station.loop, [&] { return raw.got.find(R"({"jsonrpc":"2.0","id":99,)") != raw.got.npos; }));
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {  // in order
    at = raw.got.find(R"("id":)" + std::to_string(i) + ",", at);
    ASSERT_NE(at, raw.got.npos) << i;
  }
}

TEST(RpcHttpServer, ConnectionsThatWereIdleForAWhileAreStillHeard) {
  Station station({.http_header_time = 400ms});  // so that the server looks around every 100 ms
  RawEnd raw(*station.dial());
  const std::string request =
      station.post(R"({"jsonrpc":"2.0","id":1,"method":"double","params":[4]})");
  for (int i = 0; i < 2; ++i) {
    station.loop.run_for(250ms);
    raw.got.clear();
    raw.say(request);
    ASSERT_TRUE(run_until(station.loop, [&] { return Station::complete(raw.got); })) << i;
    EXPECT_THAT(raw.got, HasSubstr("\"result\":8"));
  }
}

TEST(RpcHttpServer, TheSameIdInTwoRequestsAtOnce) {
  Station station;
  RawEnd one(*station.dial()), two(*station.dial());
  const std::string request = station.post(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  one.say(request);
  ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
  two.say(request);
  ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 2; }));
  station.replies[1](2);
  station.replies[0](1);
  ASSERT_TRUE(run_until(station.loop,
                        [&] { return Station::complete(one.got) && Station::complete(two.got); }));
  EXPECT_THAT(one.got, HasSubstr("\"result\":1"));
  EXPECT_THAT(two.got, HasSubstr("\"result\":2"));
}

TEST(RpcHttpServer, AClientThatGoesTakesItsRequestBack) {
  Station station;
  {
    RawEnd raw(*station.dial());
    raw.say(station.post(R"({"jsonrpc":"2.0","id":1,"method":"later"})"));
    ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
    EXPECT_FALSE(station.replies[0].cancelled().stop_requested());
  }
  ASSERT_TRUE(
      run_until(station.loop, [&] { return station.replies[0].cancelled().stop_requested(); }));
  station.replies[0](1);  // nobody hears it
  station.loop.run_for(5ms);
  EXPECT_THAT(
      station.exchange(station.post(R"({"jsonrpc":"2.0","id":1,"method":"double","params":[2]})")),
      HasSubstr("\"result\":4"));
}

TEST(RpcHttpServer, CloseWaitsForAnswersAndNotForever) {
  {
    Station station;
    RawEnd raw(*station.dial());
    raw.say(station.post(R"({"jsonrpc":"2.0","id":1,"method":"later"})"));
    ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
    bool closed = false;
    station.server->on_closed([&] { closed = true; });
    station.server->close();
    EXPECT_TRUE(station.replies[0].cancelled().stop_requested());
    station.loop.run_for(5ms);
    EXPECT_FALSE(closed);
    station.replies[0](5);
    ASSERT_TRUE(run_until(station.loop, [&] { return Station::complete(raw.got); }));
    EXPECT_THAT(raw.got, HasSubstr("\"result\":5"));
    raw.stream.reset();
    ASSERT_TRUE(run_until(station.loop, [&] { return closed; }));
  }
  Station station({.eof_grace = 30ms});
  RawEnd raw(*station.dial());
  raw.say(station.post(R"({"jsonrpc":"2.0","id":1,"method":"later"})"));
  ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
  bool closed = false;
  station.server->on_closed([&] { closed = true; });
  station.server->close();
  ASSERT_TRUE(run_until(station.loop, [&] { return closed; }));
}

TEST(RpcHttpServer, DestroyedWithRequestsUnderWay) {
  Station station;
  RawEnd raw(*station.dial());
  raw.say(station.post(R"({"jsonrpc":"2.0","id":1,"method":"later"})") +
          station.post(R"({"jsonrpc":"2.0","id":1,"method":"slow"})"));
  ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
  station.server.reset();
  station.replies[0](1);
  ASSERT_TRUE(run_until(station.loop, [&] { return raw.ended; }));
  station.loop.run_for(30ms);
}

// --- the client

using Calls = std::vector<std::string>;

TEST(RpcHttpClient, CallsAndBatches) {
  Station station;
  Connection client(station.loop, connect_http(station.loop, station.url()));
  EXPECT_EQ(*client.ask<int>("double", std::tuple{21}), 42);
  EXPECT_EQ(*client.ask<int>("slow"), 1);
  const auto failed = client.ask<int>("fail");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 7);
  EXPECT_EQ(client.ask<int>("nothing").error().code, rpc::code::method_not_found);
  client.peer().notify("note", std::vector<int>{});
  ASSERT_TRUE(run_until(station.loop, [&] { return station.notes == 1; }));
  std::vector<int> got;
  client.peer()
      .batch()
      .call<int>("double", std::tuple{1}, [&](Result<int> one) { got.push_back(*one); })
      .notify("note", std::vector<int>{})
      .call<int>("slow", rpc::no_params, [&](Result<int> two) { got.push_back(*two); })
      .send();
  ASSERT_TRUE(run_until(station.loop, [&] { return got.size() == 2; }));
  EXPECT_EQ(station.notes, 2);
}

TEST(RpcHttpClient, ManyAtOnce) {
  Station station;
  Connection client(station.loop, connect_http(station.loop, station.url(), {.requests = 4}));
  int sum = 0, count = 0;
  for (int i = 0; i < 200; ++i) {
    client.peer().call<int>("double", std::tuple{i}, [&](Result<int> one) {
      sum += *one;
      ++count;
    });
  }
  ASSERT_TRUE(run_until(station.loop, [&] { return count == 200; }));
  EXPECT_EQ(sum, 200 * 199);
}

/// Answers every connection with the same bytes, and ends it.
struct Parrot {
  explicit Parrot(Loop& loop_, std::string words_) : loop(loop_), words(std::move(words_)) {
    listener.emplace(*Listener::tcp(loop, {.host = "127.0.0.1", .port = 0}, [this](Stream stream) {
      ends.push_back(std::make_unique<RawEnd>(std::move(stream)));
    }));
  }
  void step() {
    for (auto& one : ends) {
      if (!one || one->got.find("\r\n\r\n") == one->got.npos) continue;
      last = one->got;
      if (!words.empty()) one->say(words);
      one.reset();
    }
  }
  Loop& loop;
  std::string words, last;
  std::vector<std::unique_ptr<RawEnd>> ends;
  std::optional<Listener> listener;
};

TEST(RpcHttpClient, EveryCallGetsAnOutcome) {
  const auto answer = [](const char* status, const std::string& body) {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
           body;
  };
  const struct {
    std::string words;
    const char* why;
  } cases[] = {
      {answer("500 Internal Server Error", ""), "HTTP 500 Internal Server Error"},
      {answer("401 Unauthorized", "<html>"), "HTTP 401 Unauthorized"},
      {answer("200 OK", "<html>"), "no JSON-RPC message"},
      {answer("200 OK", "7"), "no JSON-RPC message"},
      {answer("204 No Content", ""), "HTTP 204"},
      {answer("307 Temporary Redirect", ""), "HTTP 307"},
      {answer("308 Permanent Redirect\r\nLocation: http://me:pw@else.example/x#y", ""),
       "a redirect to http://else.example/x, which is not followed"},
      {answer("307 Temporary Redirect\r\nLocation: /again", ""), "a redirect to http://127.0.0.1"},
      {answer("200 OK\r\nContent-Encoding: gzip", "\x1f\x8b"), "Content-Encoding: gzip"},
      {answer("200 OK", R"({"jsonrpc":"2.0","id":1})"), "but not this call"},
      {answer("200 OK", R"({"jsonrpc":"2.0","id":1,"id":2,"result":1})"), "but not this call"},
      {answer("200 OK", R"({"jsonrpc":"2.0","id":"other","result":1})"), "but not this call"},
      {answer("200 OK", "[]"), "but not this call"},
      {answer("400 Bad Request",
              R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"bad one"}})"),
       "bad one"},
      {answer("200 OK", std::string(5000, ' ')), "larger than 4000 bytes"},
      {answer("200 OK", "{}").substr(0, 60), ""},
      {"nonsense\r\n\r\n", ""},
      {"", ""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.words);
    Loop loop;
    Parrot parrot(loop, one.words);
    const auto url = *http::Url::parse("http://" + parrot.listener->address());
    Connection client(loop, connect_http(loop, url, {.limits = {.message_bytes_in = 4000}}));
    std::vector<std::string> outcomes;
    const auto done = [&](Result<int> outcome) {
      ASSERT_FALSE(outcome);
      outcomes.push_back(outcome.error().message);
    };
    client.peer().call<int>("single", rpc::no_params, done);
    client.peer()
        .batch()
        .call<int>("a", rpc::no_params, done)
        .call<int>("b", rpc::no_params, done)
        .send();
    client.peer().notify("nobody");
    ASSERT_TRUE(run_until(loop, [&] {
      parrot.step();
      return outcomes.size() == 3;
    }));
    for (const std::string& why : outcomes) EXPECT_THAT(why, HasSubstr(one.why));
    EXPECT_THAT(parrot.last, HasSubstr("\r\nContent-Type: application/json\r\n"));
  }
}

TEST(RpcHttpClient, FieldsForAllAndForOne) {
  Loop loop;
  Parrot parrot(loop, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  const auto url = *http::Url::parse("http://" + parrot.listener->address());
  auto transport = connect_http(loop, url, {.fields = {{"Authorization", "Bearer t"}}});
  test::Recorder seen;
  transport->start(seen);
  const auto request = [&](const rpc::MessageFields& fields) {
    parrot.last.clear();
    test::send(*transport, R"({"jsonrpc":"2.0","method":"note"})", fields);
    EXPECT_TRUE(run_until(loop, [&] {
      parrot.step();
      return !parrot.last.empty();
    }));
    return parrot.last;
  };
  const std::string first = request({{"X-Trace", "7"}, {"bad name", "x"}, {"X-Bad", "a\r\nb"}});
  EXPECT_THAT(first, HasSubstr("\r\nAuthorization: Bearer t\r\n"));
  EXPECT_THAT(first, HasSubstr("\r\nX-Trace: 7\r\n"));
  EXPECT_THAT(first, Not(HasSubstr("X-Bad")));
  const std::string second = request({});
  EXPECT_THAT(second, HasSubstr("\r\nAuthorization: Bearer t\r\n"));
  EXPECT_THAT(second, Not(HasSubstr("X-Trace")));
}

TEST(RpcHttpClient, NobodyListens) {
  Loop loop;
  std::string address;
  {
    auto listener = Listener::tcp(loop, {.host = "127.0.0.1", .port = 0}, [](Stream) {});
    address = listener->address();
  }
  Connection client(loop, connect_http(loop, *http::Url::parse("http://" + address)));
  const auto outcome = client.ask<int>("double");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, rpc::code::connection_closed);
}

TEST(RpcHttpClient, ANotificationBeforeCloseArrives) {
  Station station;
  std::optional<Connection> client;
  client.emplace(station.loop, connect_http(station.loop, station.url()));
  client->peer().notify("note", std::vector<int>{});
  bool closed = false;
  client->on_close([&](const Error&) {
    closed = true;
    client.reset();
  });
  client->close();
  ASSERT_TRUE(run_until(station.loop, [&] { return closed; }));
  EXPECT_EQ(station.notes, 1);
}

TEST(RpcHttpClient, CloseAndDestroyWithCallsUnderWay) {
  Station station;
  {
    Connection client(station.loop, connect_http(station.loop, station.url()), nullptr,
                      {.limits = {.eof_grace = 30ms}});
    int outcomes = 0;
    client.peer().call<int>("later", rpc::no_params, [&](Result<int> outcome) {
      EXPECT_FALSE(outcome);
      ++outcomes;
    });
    ASSERT_TRUE(run_until(station.loop, [&] { return station.replies.size() == 1; }));
    bool closed = false;
    client.on_close([&](const Error&) { closed = true; });
    client.close();
    EXPECT_EQ(outcomes, 1);
    ASSERT_TRUE(run_until(station.loop, [&] { return closed; }));
  }
  ASSERT_TRUE(
      run_until(station.loop, [&] { return station.replies[0].cancelled().stop_requested(); }));
  // Destroyed in the callback of its own answer.
  auto transport = connect_http(station.loop, station.url());
  test::Recorder seen;
  seen.on_each = [&](std::string_view) { transport.reset(); };
  transport->start(seen);
  test::send(*transport, R"({"jsonrpc":"2.0","id":1,"method":"double","params":[1]})");
  test::send(*transport, R"({"jsonrpc":"2.0","id":2,"method":"double","params":[1]})");
  ASSERT_TRUE(run_until(station.loop, [&] { return !transport; }));
  station.loop.run_for(10ms);
  EXPECT_EQ(seen.messages.size(), 1u);
  EXPECT_EQ(seen.closed, 0);
}

// --- WebSocket

std::unique_ptr<rpc::Transport> open_ws(Loop& loop, const http::Url& url,
                                        const WebSocketConnectOptions& options) {
  std::optional<Result<std::unique_ptr<rpc::Transport>>> outcome;
  const auto attempt = connect_websocket(
      loop, url, [&](Result<std::unique_ptr<rpc::Transport>> got) { outcome = std::move(got); },
      options);
  EXPECT_TRUE(run_until(loop, [&] { return outcome.has_value(); }));
  EXPECT_TRUE(*outcome) << outcome->error().message;
  return *outcome ? **std::move(outcome) : nullptr;
}

TEST(RpcWebSocket, CallsBothWaysAndClose) {
  Station station({}, {}, true);
  auto router = std::make_shared<rpc::Router>();
  router->on("triple", {"n"}, [](int n) { return 3 * n; });
  station.router->on("ask back", [](rpc::Context& cx) {
    cx.peer()->call<int>("triple", std::tuple{5}, [](Result<int>) {});
    return 0;
  });
  auto transport =
      open_ws(station.loop, station.url("ws"), {.websocket = {.protocols = {"jsonrpc"}}});
  ASSERT_TRUE(transport);
  EXPECT_EQ(static_cast<WebSocketTransport&>(*transport).protocol(), "jsonrpc");
  Connection client(station.loop, std::move(transport), router);
  EXPECT_EQ(*client.ask<int>("double", std::tuple{21}), 42);
  EXPECT_EQ(*client.ask<int>("slow"), 1);
  EXPECT_EQ(*client.ask<int>("ask back"), 0);
  EXPECT_EQ(station.server->connections(), 1u);
  std::vector<int> got;
  client.peer()
      .batch()
      .call<int>("double", std::tuple{1}, [&](Result<int> one) { got.push_back(*one); })
      .call<int>("double", std::tuple{2}, [&](Result<int> one) { got.push_back(*one); })
      .send();
  ASSERT_TRUE(run_until(station.loop, [&] { return got.size() == 2; }));
  bool client_closed = false, server_closed = false;
  client.on_close([&](const Error&) { client_closed = true; });
  station.server->on_closed([&] { server_closed = true; });
  station.server->close();
  ASSERT_TRUE(run_until(station.loop, [&] { return client_closed && server_closed; }));
}

TEST(RpcWebSocket, ForeignPagesGet403AndNot101) {
  Station station({}, {.path = "/rpc", .access = {.origins = {"https://friend.example"}}}, true);
  const auto ask = [&](std::string_view host, std::string_view more,
                       std::string_view path = "/rpc") {
    return station.exchange("GET " + std::string(path) + " HTTP/1.1\r\nHost: " + std::string(host) +
                            "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                            "Sec-WebSocket-Version: 13\r\n" +
                            std::string(more) + "\r\n");
  };
  const std::string& own = station.address;
  EXPECT_THAT(ask(own, ""), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(ask(own, "Origin: http://" + own + "\r\n"), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(ask(own, "Origin: https://friend.example\r\n"), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(ask(own, "Origin: https://evil.example\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(own, "Origin: null\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(own, "Sec-Fetch-Site: cross-site\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("evil.example", ""), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(own, "", "/other"), StartsWith("HTTP/1.1 404 "));
  // Without an upgrade.
  EXPECT_THAT(station.exchange(station.head("GET") + "\r\n"), StartsWith("HTTP/1.1 426 "));
  EXPECT_THAT(station.exchange(station.post("{}")), StartsWith("HTTP/1.1 405 "));
}

TEST(RpcWebSocket, AHandshakeThatNeverEnds) {
  Station station({.ws_handshake_time = 40ms}, {}, true);
  RawEnd raw(*station.dial());
  raw.say("GET / HTTP/1.1\r\n");
  ASSERT_TRUE(run_until(station.loop, [&] { return raw.ended; }));
  EXPECT_THAT(raw.got, StartsWith("HTTP/1.1 408 "));
}

TEST(RpcOverTls, WebSocketAndHttp) {
  test::TemporaryFolder folder;
  const auto authority = test::TestCertificate::make_authority();
  const auto certificate = authority.sign({});
  const auto context = TlsContext::server(
      {.certificate_file = test::write_file(folder.file("s.pem"), certificate.certificate_pem()),
       .key_file = test::write_file(folder.file("s.key"), certificate.key_pem())});
  const auto trust = TlsContext::client(
      {.ca_file = test::write_file(folder.file("ca.pem"), authority.certificate_pem())});
  ASSERT_TRUE(context && trust);
  Station station({}, {.tls = *context}, true);
  auto transport = open_ws(station.loop, station.url("wss"),
                           {.connect = {.tls = *trust, .server_name = "localhost"}});
  ASSERT_TRUE(transport);
  Connection client(station.loop, std::move(transport));
  EXPECT_EQ(*client.ask<int>("double", std::tuple{21}), 42);

  Station web({}, {.tls = *context});
  auto url = web.url("https");
  url.host = "localhost";  // whom the certificate is for
  Connection over_http(web.loop, connect_http(web.loop, url, {.client = {.tls = *trust}}));
  EXPECT_EQ(over_http.ask<int>("double", std::tuple{21}).value(), 42);
}

}  // namespace
}  // namespace godwit
