// Any allocation of a server over HTTP may fail: the request or the connection that needed it
// fails, the next one works, and nothing is left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "blocking_client.hpp"
#include "fail_allocations.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/mcp/memory_session_store.hpp"
#include "godwit/web/metrics.hpp"
#include "godwit/web/web_server.hpp"
#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::BlockingClient;
using Response = BlockingClient::Response;

/// Everybody, every other one of them a moment later.
void let_in(const http::Request&, http::Decision& decision) {
  static std::atomic<unsigned> asked = 0;
  http::Admitted who{.identity = nullptr, .fields = {{"X-Admitted", "yes"}}};
  if (++asked % 2 == 0) return decision.admit(std::move(who));
  decision.later().admit(std::move(who));
}

/// A server whose loop has a thread of its own.
class Served {
 public:
  explicit Served(unsigned threads, std::shared_ptr<SessionStore> sessions = nullptr)
      : pool_(1), server_(options()) {
    test::own_thread = true;
    server_.tool("echo", "", [](City in) { return in.city; });
    const auto steps = [](City in, Context& cx) {
      cx.progress(1, 2);
      return in.city;
    };
    server_.tool("steps", "", steps);
    server_.tool("work", "", blocking(steps));
    auto made = WebServer::listen(loop_, server_, {"127.0.0.1", 0},
                                  {.endpoint = {.admission = http::make_admission(let_in),
                                                .sse_path = "/sse",
                                                .metrics_path = "/metrics",
                                                .metrics = metrics_,
                                                .sessions = std::move(sessions)},
                                   .threads = threads});
    EXPECT_TRUE(made) << made.error().message;
    web_.emplace(*std::move(made));
    host = web_->address();
    thread_ = std::thread([this] {
      const Loop::Work work(loop_);
      loop_.run(server_.options().log);
    });
  }
  ~Served() {
    loop_.stop();
    thread_.join();
    web_.reset();
  }

  /// "SESSIONS OPEN_EXCHANGES", as the server counts them.
  std::string counts() const {
    const std::string text = metrics_->text();
    const auto number = [&](std::string_view name) {
      const std::size_t at = text.find("\n" + std::string(name) + " ");
      if (at == text.npos) return std::string("?");
      const std::size_t begin = at + name.size() + 2;
      return text.substr(begin, text.find('\n', begin) - begin);
    };
    return number("godwit_sessions") + " " + number("godwit_open_exchanges");
  }
  /// Waits, since the server may be a little behind its clients.
  void expect_nothing_left() const {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (counts() != "0 0" && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(counts(), "0 0");
  }

  /// Whether everybody was told in time that the server drains.
  bool drain() {
    std::promise<void> drained;
    loop_.post([&] { web_->drain([&] { drained.set_value(); }, 2s); });
    return drained.get_future().wait_for(20s) == std::future_status::ready;
  }

  // Requests.

  std::string post(std::string_view body, std::string_view more,
                   std::string_view target = "/mcp") const {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: " + host +
           "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
           std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  }
  static std::string in(std::string_view session) {
    return session.empty() ? "" : "Mcp-Session-Id: " + std::string(session) + "\r\n";
  }
  std::string bare(std::string_view method, std::string_view session,
                   std::string_view more = "") const {
    return std::string(method) + " /mcp HTTP/1.1\r\nHost: " + host +
           "\r\nAccept: text/event-stream\r\n" + in(session) + std::string(more) + "\r\n";
  }
  std::string modern(std::string_view tool, std::string_view more) const {
    return post(Site::modern_body("1", "tools/call", test::Link::tool_params(tool, oslo, more)),
                "MCP-Protocol-Version: " + std::string(test::modern_revision) +
                    "\r\nMcp-Method: tools/call\r\nMcp-Name: " + std::string(tool) + "\r\n");
  }

  std::string host;

 private:
  ServerOptions options() {
    ServerOptions options = test::server_options();
    options.executor = &pool_;
    options.limits.session_idle = 2s;  // of a session whose client never heard of it
    options.log = Log([](LogLevel, std::string_view) {});
    return options;
  }

  ThreadPool pool_;
  Server server_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  Loop loop_;
  std::optional<WebServer> web_;
  std::thread thread_;
};

constexpr std::string_view with_token = R"(,"_meta":{"progressToken":1})";

/// Asks; nothing if the connection is over, or the answer an error of the server.
std::optional<Response> ask(BlockingClient& client, const std::string& request,
                            bool stays_open = false) {
  if (client.closed()) return std::nullopt;
  client.send(request);
  Response response = client.response(stays_open);
  if (response.status / 100 != 2) return std::nullopt;
  return response;
}

/// Everything that a stateless client does. True if all of it was answered.
bool stateless_round(const Served& served) {
  BlockingClient client(served.host);
  const auto echo = ask(client, served.modern("echo", ""));
  const auto work = ask(client, served.modern("work", with_token));
  const auto steps = ask(client, served.modern("steps", with_token));
  const auto again = ask(client, served.modern("echo", ""));
  return echo && work && steps && again && echo->body.find("Oslo") != std::string::npos &&
         work->body.find("Oslo") != std::string::npos;
}

/// Asks for the rest of a stream again, from its first event on.
bool come_back(const Served& served, std::string_view session, const std::string& stream) {
  const std::size_t id = stream.find("id: ");
  if (id == stream.npos) return false;
  BlockingClient client(served.host);
  const std::string last = stream.substr(id + 4, stream.find('\n', id) - id - 4);
  const auto rest = ask(client, served.bare("GET", session, "Last-Event-ID: " + last + "\r\n"));
  return rest && rest->body.find("Oslo") != std::string::npos;
}

/// Everything that a client of the oldest transport does. What was accepted is answered, or the
/// stream ends.
bool sse_round(const Served& served) {
  BlockingClient stream(served.host);
  stream.send("GET /sse HTTP/1.1\r\nHost: " + served.host +
              "\r\nAccept: text/event-stream\r\n\r\n");
  if (stream.response(true).status != 200) return false;
  stream.until("data: ");
  const std::string to = stream.until("\n");
  if (!to.ends_with('\n')) return false;
  BlockingClient client(served.host);
  const std::string_view target = std::string_view(to).substr(0, to.size() - 1);
  for (const std::string& body :
       {Site::initialize_body("2024-11-05"), Site::legacy_body("", "notifications/initialized"),
        Site::tool_body("1", "steps", oslo, with_token),
        Site::tool_body("2", "work", oslo, with_token)}) {
    if (!ask(client, served.post(body, "", target))) return false;
    if (body.find("\"id\"") == std::string::npos) continue;
    stream.until("\"id\":");  // of an answer, which may be an error
    if (stream.until("\n").find("\"result\"") == std::string::npos) return false;
  }
  return true;
}

/// Everything that a stateful one does: handshake, calls, a stream for what belongs to no call, the
/// end.
bool stateful_round(const Served& served) {
  BlockingClient client(served.host);
  const auto hello = ask(client, served.post(Site::initialize_body("2025-11-25"), ""));
  if (!hello) return false;
  const std::string session = hello->field("Mcp-Session-Id");
  const std::string in = Served::in(session);
  bool good = !session.empty();
  {
    BlockingClient listening(served.host);
    good = ask(client, served.post(Site::legacy_body("", "notifications/initialized"), in)) && good;
    good = ask(listening, served.bare("GET", session), true) && good;
    good = ask(client, served.post(Site::tool_body("1", "echo", oslo), in)) && good;
    const auto work = ask(client, served.post(Site::tool_body("2", "work", oslo, with_token), in));
    good = ask(client, served.post(Site::tool_body("3", "steps", oslo, with_token), in)) && good;
    good = work && come_back(served, session, work->body) && good;
  }
  BlockingClient last(served.host);
  const bool ended = ask(last, served.bare("DELETE", session)).has_value();
  if (ended) return good;
  // The client of a server that failed tries again.
  test::until_failure = 0;
  BlockingClient again(served.host);
  again.send(served.bare("DELETE", session));
  again.response();
  return false;
}

TEST(AllocationFailure, OfStatelessRequests) {
  const Served served(1);
  const int failures = test::fail_each_allocation([&] { stateless_round(served); },
                                                  [&] {
                                                    EXPECT_TRUE(stateless_round(served));
                                                    served.expect_nothing_left();
                                                  });
  EXPECT_GT(failures, 20);
}

TEST(AllocationFailure, OfASession) {
  const Served served(1);
  const int failures = test::fail_each_allocation([&] { stateful_round(served); },
                                                  [&] {
                                                    EXPECT_TRUE(stateful_round(served));
                                                    served.expect_nothing_left();
                                                  });
  EXPECT_GT(failures, 50);
}

TEST(AllocationFailure, OfASessionThatIsSaved) {
  const auto store = std::make_shared<MemorySessionStore>();
  const Served served(1, store);
  const int failures = test::fail_each_allocation([&] { stateful_round(served); },
                                                  [&] {
                                                    EXPECT_TRUE(stateful_round(served));
                                                    served.expect_nothing_left();
                                                    EXPECT_EQ(store->sessions(), 0u);
                                                  });
  EXPECT_GT(failures, 50);
}

// Connections go to either thread, sessions stay on theirs: many requests are carried over.
TEST(AllocationFailure, OfRequestsThatAreCarriedToAnotherThread) {
  const Served served(2);
  const int failures = test::fail_each_allocation(
      [&] {
        stateful_round(served);
        stateful_round(served);
      },
      [&] {
        EXPECT_TRUE(stateful_round(served));
        served.expect_nothing_left();
      });
  EXPECT_GT(failures, 50);
}

TEST(AllocationFailure, OfTheOldestTransport) {
  const Served served(1);
  const int failures = test::fail_each_allocation([&] { sse_round(served); },
                                                  [&] {
                                                    EXPECT_TRUE(sse_round(served));
                                                    served.expect_nothing_left();
                                                  });
  EXPECT_GT(failures, 20);
}

TEST(AllocationFailure, OfDraining) {
  for (const unsigned threads : {1u, 2u}) {
    int failures = 0;
    for (long n = 1; n == 1 || test::has_failed; ++n) {
      Served served(threads);
      BlockingClient client(served.host);
      const auto hello = ask(client, served.post(Site::initialize_body("2025-11-25"), ""));
      ASSERT_TRUE(hello);
      BlockingClient listening(served.host);
      EXPECT_TRUE(ask(listening, served.bare("GET", hello->field("Mcp-Session-Id")), true));
      test::has_failed = false;
      test::until_failure = n;
      EXPECT_TRUE(served.drain()) << "after the failure of allocation " << n;
      test::until_failure = 0;
      failures += test::has_failed ? 1 : 0;
    }
    EXPECT_GT(failures, 0);
  }
}

}  // namespace
}  // namespace godwit::inline v0
