// Isolation: a thousand clients with equal ids and a secret each. No answer, no notification and no
// question ever reaches the wrong one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

constexpr int clients = 1000;
constexpr int calls = 1000;

struct Say {
  std::string secret{};
};

/// A client that checks every message it is sent.
class Guest {
 public:
  Guest(const Server& server, int number) : secret_("secret-" + std::to_string(number) + "-") {
    peer_.emplace(sink_, server.router(),
                  server.peer_options({.identity = test::known_as(secret_), .user = nullptr}));
    modern_ = number % 2 == 0;
    if (modern_) {
      meta_ = R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
              R"("io.modelcontextprotocol/clientCapabilities":{},"progressToken":")" +
              secret_ + R"("})";
    } else {
      meta_ = R"(,"_meta":{"progressToken":")" + secret_ + R"("})";
      peer_->receive(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
                     R"("2025-11-25","capabilities":{},"clientInfo":{"name":")" +
                     secret_ + R"(","version":"1"}}})");
      peer_->receive(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
      handshake_ = true;
    }
  }

  void call(int id, std::string_view tool) {
    // Ids are the same for everybody; the call's own number is part of the secret.
    expected_ = secret_ + std::to_string(id);
    request_.clear();
    request_.append(R"({"jsonrpc":"2.0","id":)").append(std::to_string(id));
    request_.append(R"(,"method":"tools/call","params":{"name":")").append(tool);
    request_.append(R"(","arguments":{"secret":")").append(expected_).append(R"("})");
    request_.append(meta_).append("}}");
    ++asked_;
    peer_->receive(request_);
  }
  void process() { peer_->process(); }
  int asked() const { return asked_; }
  int answered() const { return answered_; }
  int wrong() const { return wrong_; }
  const std::string& example() const { return example_; }

 private:
  void on_sent(std::string_view message) {
    const bool answer = message.find(R"("id":)") != message.npos;
    if (answer && !modern_ && !handshake_) return;  // of initialize
    // Whatever it is, it has our secret, and no other.
    const std::size_t at = message.find("secret-");
    bool good = at != message.npos;
    for (std::size_t i = at; good && i != message.npos; i = message.find("secret-", i + 1)) {
      good = message.substr(i).starts_with(secret_);
    }
    if (answer) {
      ++answered_;
      int id = -1;
      const std::size_t begin = message.find(R"("id":)") + 5;
      std::from_chars(message.data() + begin, message.data() + message.size(), id);
      good = good && message.find(secret_ + std::to_string(id) + "\"") != message.npos;
    }
    if (good) return;
    ++wrong_;
    example_ = message;
  }

  std::string secret_, meta_, request_, expected_, example_;
  bool modern_ = false, handshake_ = false;
  int asked_ = 0, answered_ = 0, wrong_ = 0;
  rpc::MessageSink sink_{[this](std::string_view message) { on_sent(message); }};
  std::optional<rpc::Peer> peer_;
};

void check(const std::vector<std::unique_ptr<Guest>>& guests, int each) {
  int wrong = 0, answered = 0;
  for (const auto& guest : guests) {
    wrong += guest->wrong();
    answered += guest->answered();
    EXPECT_TRUE(guest->example().empty()) << guest->example();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(answered, static_cast<int>(guests.size()) * each);
}

TEST(Isolation, AMillionCallsOfAThousandClients) {
  Server server(test::server_options());
  server.tool("say", "", [](Say in) { return in.secret; });
  std::vector<std::unique_ptr<Guest>> guests;
  for (int i = 0; i < clients; ++i) guests.push_back(std::make_unique<Guest>(server, i));
  EXPECT_EQ(server.sessions(), static_cast<std::size_t>(clients));
  for (int id = 1; id <= calls; ++id) {
    for (const auto& guest : guests) guest->call(id, "say");
  }
  check(guests, calls);
}

TEST(Isolation, LateAnswersInAnyOrder) {
  Server server(test::server_options());
  struct Waiting {
    Reply<std::string> reply;
    std::string secret;
  };
  std::vector<Waiting> waiting;
  server.tool("late", "", [&](Say in, Reply<std::string> reply) {
    waiting.push_back({std::move(reply), in.secret});
  });
  std::vector<std::unique_ptr<Guest>> guests;
  for (int i = 0; i < clients; ++i) guests.push_back(std::make_unique<Guest>(server, i));
  std::mt19937 random(4711);
  for (int id = 1; id <= 20; ++id) {
    for (const auto& guest : guests) guest->call(id, "late");
    if (id % 5 != 0) continue;
    std::shuffle(waiting.begin(), waiting.end(), random);
    for (Waiting& one : waiting) {
      one.reply.context().progress(1);
      one.reply(one.secret);
    }
    waiting.clear();
    for (const auto& guest : guests) guest->process();
  }
  check(guests, 20);
}

TEST(Isolation, BlockingHandlersAndConnectionsOnManyThreads) {
  ThreadPool pool(4);
  ServerOptions options = test::server_options();
  options.executor = &pool;
  Server server(std::move(options));
  server.tool("say", "", [](Say in, Context& cx) {
    cx.progress(1, 2, cx.identity()->subject);
    return in.secret;
  });
  server.tool("slow", "", blocking([](Say in, Context& cx) {
                cx.progress(1, 2, cx.identity()->subject);
                std::this_thread::yield();
                return in.secret;
              }));
  constexpr int threads = 4, each = 25, rounds = 40;
  std::vector<std::vector<std::unique_ptr<Guest>>> groups(threads);
  std::vector<std::thread> hosts;
  for (int t = 0; t < threads; ++t) {
    hosts.emplace_back([&, t] {
      auto& guests = groups[static_cast<std::size_t>(t)];
      for (int i = 0; i < each; ++i) {
        guests.push_back(std::make_unique<Guest>(server, t * each + i));
      }
      for (int id = 1; id <= rounds; ++id) {
        for (const auto& guest : guests) guest->call(id, id % 2 == 0 ? "slow" : "say");
      }
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      for (const auto& guest : guests) {
        while (guest->answered() < rounds && std::chrono::steady_clock::now() < deadline) {
          guest->process();
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  for (const auto& guests : groups) check(guests, rounds);
}

}  // namespace
}  // namespace godwit::inline v0
