// What a Peer tells its Output of each message.
#include "godwit/rpc/transport.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::rpc {
namespace {

/// What was told, in a form that outlives it.
struct Told {
  MessageKind kind{};
  std::string method{};
  std::vector<Id> ids{};
  std::string answers{};
  std::optional<Error> error{};
  Route route = 0;
  MessageFields fields{};
};

class Listener final : public Output {
 public:
  std::string& output() override { return buffer_; }
  void finish(const Outbound& message) override {
    told.push_back({.kind = message.kind,
                    .method = std::string(message.method),
                    .ids = {message.ids.begin(), message.ids.end()},
                    .answers = std::string(message.answers),
                    .error = message.error ? std::optional(*message.error) : std::nullopt,
                    .route = message.route,
                    .fields = message.fields ? *message.fields : MessageFields{}});
    buffer_.resize(message.begin);
  }
  void flush() override {}
  bool has_fields() const noexcept override { return true; }
  std::vector<Told> told;

 private:
  std::string buffer_;
};

struct Described : testing::Test {
  Listener out;
  std::shared_ptr<Router> router = std::make_shared<Router>();
  PeerOptions options;
  Described() {
    options.log = Log();
    options.abandoned = [](Peer& peer, const Id& id, const Error&) {
      peer.notify_cancelled(id, "cancelled", std::vector<Id>{id});
    };
  }
};

TEST_F(Described, OwnMessages) {
  Peer peer(out, router, options);
  EXPECT_TRUE(peer.has_fields());
  const CallHandle call =
      peer.call("m", no_params, [](Result<json::Value>) {}, {.route = 9, .fields = {{"X-A", "b"}}});
  peer.notify("n", no_params, 3);
  peer.cancel(call);
  Batch batch = peer.batch();
  batch.call("a", no_params, [](Result<json::Value>) {});
  batch.call("b", no_params, [](Result<json::Value>) {});
  batch.send();
  ASSERT_EQ(out.told.size(), 4u);
  EXPECT_EQ(out.told[0].kind, MessageKind::request);
  EXPECT_EQ(out.told[0].method, "m");
  EXPECT_EQ(out.told[0].ids, std::vector<Id>{Id(1)});
  EXPECT_EQ(out.told[0].route, 9u);
  EXPECT_EQ(out.told[0].fields, (MessageFields{{"X-A", "b"}}));
  EXPECT_EQ(out.told[1].kind, MessageKind::notification);
  EXPECT_EQ(out.told[1].method, "n");
  EXPECT_EQ(out.told[1].route, 3u);
  EXPECT_TRUE(out.told[1].fields.empty());
  EXPECT_EQ(out.told[2].kind, MessageKind::cancellation);
  EXPECT_EQ(out.told[2].ids, std::vector<Id>{Id(1)});
  EXPECT_EQ(out.told[2].route, 9u) << "by the way that the request took";
  EXPECT_EQ(out.told[3].kind, MessageKind::batch);
  EXPECT_EQ(out.told[3].ids, (std::vector<Id>{Id(2), Id(3)}));
}

TEST_F(Described, Answers) {
  router->on("good", [] { return 1; });
  router->on("bad", []() -> Result<int> { return Error{.code = 7, .message = "x"}; });
  Peer peer(out, router, options);
  for (const std::string id :
       {"1", "-5", "\"text\"", "\"\\u00e9\\n\"", "1.5", "18446744073709551615"}) {
    out.told.clear();
    peer.receive(R"({"jsonrpc":"2.0","method":"good","id":)" + id + "}");
    peer.receive(R"({"jsonrpc":"2.0","method":"bad","id":)" + id + "}");
    ASSERT_EQ(out.told.size(), 2u) << id;
    const auto same = [&](const Told& told) {
      json::Document one, other;
      return Id::from(*one.parse(told.answers)) == Id::from(*other.parse(id));
    };
    EXPECT_EQ(out.told[0].kind, MessageKind::answer);
    EXPECT_TRUE(same(out.told[0])) << out.told[0].answers;
    EXPECT_FALSE(out.told[0].error);
    EXPECT_TRUE(same(out.told[1])) << out.told[1].answers;
    EXPECT_EQ(out.told[1].error.value().code, 7);
  }
}

TEST_F(Described, AnswersToWhatCannotBeRead) {
  Peer peer(out, router, options);
  peer.receive("{");
  peer.receive("[" + std::string(R"({"jsonrpc":"2.0","id":1,"method":"nobody"})") + "]");
  ASSERT_EQ(out.told.size(), 2u);
  EXPECT_EQ(out.told[0].answers, "null");
  EXPECT_EQ(out.told[0].error.value().code, code::parse_error);
  EXPECT_EQ(out.told[1].kind, MessageKind::answer);
  EXPECT_EQ(out.told[1].answers, "");
  EXPECT_FALSE(out.told[1].error) << "which of them it would be";
}

}  // namespace
}  // namespace godwit::inline v0::rpc
