// A Service that is no Server: it passes every message on to a Server behind it, and every message
// of that one back. Served over a stream and over HTTP, to clients of both eras.
#include "godwit/mcp/service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "godwit/io/descriptor.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/runtime/client.hpp"
#include "godwit/runtime/serve.hpp"
#include "godwit/seal/aes_sealer.hpp"
#include "godwit/server/server.hpp"
#include "godwit/transport/stream_transport.hpp"
#include "godwit/web/web_server.hpp"

namespace godwit::inline v0 {
namespace {

struct Text {
  std::string text{};
};
struct Confirm {
  bool sure{};
};

/// One client of the forwarder: a peer that speaks to a peer of the server behind, in memory.
class Passage final : public Service::Session, public std::enable_shared_from_this<Passage> {
 public:
  Passage(Server& server, rpc::Peer& client, std::shared_ptr<const rpc::Router> back)
      : client_(client),
        forth_(to_server_, std::move(back)),
        server_(to_forth_, server.router(), options_of(server, client)) {}

  void set_stateless() override { behind().set_stateless(); }
  bool established() const noexcept override { return behind().established(); }
  bool resumes_streams() const noexcept override { return behind().resumes_streams(); }

  /// A message of the client.
  void forward(rpc::Context& call, const RawJson& params, rpc::Reply<RawJson> reply) {
    facts_ = &call.facts();
    pass_on(forth_, call, params, [reply = std::move(reply)](Result<RawJson> result) mutable {
      reply(std::move(result));
    });
    pump();
    facts_ = &rpc::no_facts();
  }
  /// A message of the server.
  void back(rpc::Context& call, const RawJson& params, rpc::Reply<RawJson> reply) {
    pass_on(client_, call, params,
            [self = weak_from_this(), reply = std::move(reply)](Result<RawJson> result) mutable {
              reply(std::move(result));
              if (const auto alive = self.lock()) alive->pump();
            });
  }

 private:
  static void pass_on(rpc::Peer& to, rpc::Context& call, const RawJson& params,
                      rpc::Done<RawJson> done) {
    const bool none = !params.text.starts_with('{');  // in MCP they are an object or absent
    if (!call.is_notification()) {
      none ? to.call<RawJson>(call.method(), rpc::no_params, std::move(done))
           : to.call<RawJson>(call.method(), params, std::move(done));
      return;
    }
    none ? to.notify(call.method()) : to.notify(call.method(), params);
    done(RawJson{"null"});
  }
  rpc::PeerOptions options_of(Server& server, rpc::Peer& client) {
    rpc::PeerOptions options = server.peer_options();
    options.wake = [this, poster = client.poster()] {
      poster([self = weak_from_this()] {
        if (const auto alive = self.lock()) alive->pump();
      });
    };
    return options;
  }
  Service::Session& behind() const noexcept { return Service::session_of(server_); }

  void pump() {
    for (;;) {
      forth_.process();
      server_.process();
      if (!for_server_.empty()) {
        const std::string message = std::move(for_server_.front());
        for_server_.pop_front();
        server_.receive(message, 0, *facts_);
      } else if (!for_forth_.empty()) {
        const std::string message = std::move(for_forth_.front());
        for_forth_.pop_front();
        forth_.receive(message);
      } else {
        return;
      }
    }
  }

  rpc::Peer& client_;
  const rpc::Facts* facts_ = &rpc::no_facts();
  std::deque<std::string> for_server_;
  std::deque<std::string> for_forth_;
  rpc::MessageSink to_server_{[this](std::string_view text) { for_server_.emplace_back(text); }};
  rpc::MessageSink to_forth_{[this](std::string_view text) { for_forth_.emplace_back(text); }};
  rpc::Peer forth_;
  rpc::Peer server_;
};

class Forwarder final : public Service {
 public:
  explicit Forwarder(Server& server) : server_(server) {
    forth_->fallback([](rpc::Context& call, const RawJson& params, rpc::Reply<RawJson> reply) {
      static_cast<Passage*>(session_of(call))->forward(call, params, std::move(reply));
    });
  }
  std::shared_ptr<const rpc::Router> router() const override { return forth_; }
  rpc::PeerOptions peer_options(PeerFacts) const override {
    rpc::PeerOptions options = server_.peer_options();
    options.abandoned = {};
    options.attach = attaching([this](rpc::Peer& client) {
      auto back = std::make_shared<rpc::Router>();
      const auto passage = std::make_shared<std::weak_ptr<Passage>>();
      back->fallback(
          [passage](rpc::Context& call, const RawJson& params, rpc::Reply<RawJson> reply) {
            passage->lock()->back(call, params, std::move(reply));
          });
      auto made = std::make_shared<Passage>(server_, client, std::move(back));
      *passage = made;
      return made;
    });
    return options;
  }

 private:
  Server& server_;
  std::shared_ptr<rpc::Router> forth_ = std::make_shared<rpc::Router>();
};

struct Behind {
  ThreadPool pool{2};
  Server server{{.name = "behind",
                 .version = "1",
                 .executor = &pool,
                 .sealer = std::make_shared<AesSealer>()}};
  Forwarder forwarder{server};

  Behind() {
    server.tool("echo", "", [](Text in) { return in.text; });
    server.tool("elsewhere", "", blocking([](Text in) { return in.text + " from elsewhere"; }));
    server.tool("count", "", [](Context& cx) {
      for (int i = 1; i <= 3; ++i) cx.progress(i, 3);
      return "counted";
    });
    server.tool("deploy", "", [](Context& cx) -> Result<std::string> {
      auto answer = cx.elicit<Confirm>("confirm", "Sure?");
      if (!answer) return answer.error();
      return answer->accepted() ? "deployed" : "not deployed";
    });
    server.resource("note:1", "note", [] { return "a note"; });
  }
};

/// What a client of either era can do with a server, it can do through the forwarder.
void use(Client& client) {
  EXPECT_EQ(client.server_info().name, "behind");
  const Result<std::vector<Tool>> tools = client.list_tools();
  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ(tools->size(), 4u);
  const auto echo = client.call<std::string>("echo", Text{"hello"});
  ASSERT_TRUE(echo) << echo.error().message;
  EXPECT_EQ(*echo, "hello");
  const auto elsewhere = client.call<std::string>("elsewhere", Text{"hello"});
  ASSERT_TRUE(elsewhere) << elsewhere.error().message;
  EXPECT_EQ(*elsewhere, "hello from elsewhere");
  std::vector<double> seen;
  const auto counted = client.call<std::string>(
      "count", json::Object{},
      {.on_progress = [&](const Progress& step) { seen.push_back(step.progress); }});
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
  const auto deployed = client.call<std::string>("deploy", json::Object{});
  ASSERT_TRUE(deployed) << deployed.error().message;
  EXPECT_EQ(*deployed, "deployed");
  const auto note = client.read("note:1");
  ASSERT_TRUE(note) << note.error().message;
  const auto unknown = client.call<std::string>("nothing", json::Object{});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("nothing"));
}

ClientOptions client_options(Lifecycle lifecycle) {
  ClientOptions options;
  options.lifecycle = lifecycle;
  options.elicit = [](const ElicitRequest&) -> Result<ElicitResult> {
    return ElicitResult{.action = ElicitAction::accept, .content = json::Object{{"sure", true}}};
  };
  return options;
}

struct Forwarding : testing::TestWithParam<Lifecycle> {};

TEST_P(Forwarding, OverHttp) {
  Behind behind;
  Loop loop;
  Result<WebServer> web = WebServer::listen(loop, behind.forwarder, *Address::parse("127.0.0.1:0"));
  ASSERT_TRUE(web) << web.error().message;
  std::thread thread([&] {
    const Loop::Work work(loop);
    loop.run();
  });
  {
    Result<Client> client = Client::connect(web->url(), client_options(GetParam()));
    EXPECT_TRUE(client) << client.error().message;
    if (client) use(*client);
  }
  loop.stop();
  thread.join();
}

TEST_P(Forwarding, OverAStream) {
  Behind behind;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const auto open = [](Loop& loop, int end) -> Result<std::unique_ptr<rpc::Transport>> {
    Result<Stream> stream = Stream::open(loop, Descriptor(end));
    if (!stream) return std::move(stream).error();
    return std::make_unique<StreamTransport>(loop, *std::move(stream));
  };
  const Serving serving = serve(behind.forwarder, [&](Loop& loop) { return open(loop, ends[0]); });
  Result<Client> client =
      Client::connect(TransportFactory([&](Loop& loop) { return open(loop, ends[1]); }),
                      client_options(GetParam()));
  ASSERT_TRUE(client) << client.error().message;
  use(*client);
}

INSTANTIATE_TEST_SUITE_P(Eras, Forwarding,
                         testing::Values(Lifecycle::stateful, Lifecycle::stateless));

}  // namespace
}  // namespace godwit::inline v0
