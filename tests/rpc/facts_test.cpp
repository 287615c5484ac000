#include "godwit/rpc/facts.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "godwit/base/executor.hpp"
#include "godwit/json/document.hpp"
#include "rpc_station.hpp"

namespace godwit::rpc {
namespace {

using test::Station;

std::shared_ptr<const Identity> known_as(std::string subject) {
  return std::make_shared<const Identity>(
      Identity{.issuer = "test", .subject = std::move(subject)});
}

std::string describe(const Facts& facts) {
  std::string text = facts.identity ? facts.identity->subject : "nobody";
  text += " at " + std::string(facts.peer) + (facts.secure ? " (tls)" : "");
  facts.fields.for_each([&](const HeaderField& field) {
    text += " " + std::string(field.name) + "=" + std::string(field.value);
  });
  return text;
}

// Header fields.

const std::vector<HeaderField> sent = {{"Host", "a"},          {"X-One", "1"},
                                       {"authorization", "s"}, {"X-Two", "2"},
                                       {"x-two", "3"},         {"Proxy-Authorization", "s"},
                                       {"COOKIE", "s"},        {"dpop", "s"}};

TEST(HeaderFields, AreFoundByNameIfTheyAreThereOnce) {
  const HeaderFields fields(sent);
  EXPECT_EQ(fields.find("x-one"), "1");
  EXPECT_EQ(fields.find("HOST"), "a");
  EXPECT_EQ(fields.find("X-Two"), std::nullopt) << "it says two things";
  EXPECT_EQ(fields.find("X-Three"), std::nullopt);
  EXPECT_EQ(HeaderFields().find("Host"), std::nullopt);
}

TEST(HeaderFields, KeepSecrets) {
  const HeaderFields fields(sent);
  for (const char* name : {"Authorization", "Proxy-Authorization", "Cookie", "DPoP"}) {
    EXPECT_TRUE(HeaderFields::is_secret(name)) << name;
    EXPECT_EQ(fields.find(name), std::nullopt) << name;
  }
  std::string seen;
  fields.for_each([&](const HeaderField& field) { seen += std::string(field.name) + " "; });
  EXPECT_EQ(seen, "Host X-One X-Two x-two ");
}

// Keeping.

TEST(Facts, AKeptCopyOutlivesTheRest) {
  std::shared_ptr<const Facts> kept;
  {
    const std::string text = "Name:value:10.0.0.1:80";
    const std::string_view view = text;
    const std::vector<HeaderField> fields = {{view.substr(0, 4), view.substr(5, 5)},
                                             {"Cookie", view.substr(5, 5)}};
    kept = keep({.identity = known_as("ada"),
                 .fields = HeaderFields(fields),
                 .peer = view.substr(11),
                 .local = view.substr(0, 3),
                 .secure = true,
                 .certificate = std::make_shared<PeerCertificate>(PeerCertificate{"CN=ada", "00"}),
                 .process = PeerProcess{.process = 1, .user = 2, .group = 3}});
  }
  EXPECT_EQ(kept->certificate->subject, "CN=ada");
  EXPECT_EQ(kept->local, "Nam");
  EXPECT_EQ(kept->process, (PeerProcess{.process = 1, .user = 2, .group = 3}));
  EXPECT_EQ(describe(*kept), "ada at 10.0.0.1:80 (tls) Name=value");
  EXPECT_EQ(describe(*keep(*kept)), describe(*kept));
  EXPECT_EQ(describe(no_facts()), "nobody at ");
}

// In a peer.

struct Peers : testing::Test {
  Peers() {
    router->on("who", [](Context& cx) { return describe(cx.facts()); });
    router->on("late", blocking([](Context& cx) { return describe(cx.facts()); }));
    router->on("nested", [this](Context& cx) {
      // As a carrier does that is driven by the handler.
      receive(*cx.peer(), "who", {.peer = "inner"});
      return describe(cx.facts());
    });
  }
  void receive(Peer& peer, const std::string& method, const Facts& facts) {
    json::Document document;
    const std::string text = R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"("})";
    peer.receive(*document.parse(text), facts);
  }
  std::string ask(Station& station, const std::string& method, const Facts& facts) {
    station.sent.clear();
    receive(*station.peer, method, facts);
    while (station.sent.empty()) {
      station.peer->process();
      std::this_thread::yield();
    }
    return station.all_sent();
  }
  static std::string answer(const std::string& text) {
    return R"({"jsonrpc":"2.0","id":1,"result":")" + text + R"("})";
  }

  ThreadPool pool{1};
  std::shared_ptr<Router> router = std::make_shared<Router>(&pool);
};

TEST_F(Peers, HandlersSeeTheFactsOfTheirMessage) {
  Station station(router);
  const std::vector<HeaderField> fields = {{"X-A", "1"}, {"Authorization", "secret"}};
  for (const char* method : {"who", "late"}) {
    EXPECT_EQ(ask(station, method,
                  {.identity = known_as("ada"), .fields = HeaderFields(fields), .peer = "p"}),
              answer("ada at p X-A=1"));
    EXPECT_EQ(ask(station, method, {.secure = true}), answer("nobody at  (tls)"));
  }
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"who"})"), answer("nobody at "));
}

TEST_F(Peers, AMessageThatHadToWaitKeepsItsOwn) {
  Station station(router);
  receive(*station.peer, "nested", {.peer = "outer"});
  ASSERT_EQ(station.sent.size(), 2u);
  EXPECT_EQ(station.sent[0], answer("nobody at outer"));
  EXPECT_EQ(station.sent[1], answer("nobody at inner"));
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"who"})"), answer("nobody at "));
}

TEST_F(Peers, AConnectionMayKnowThemForAllMessages) {
  PeerOptions options;
  options.identity = known_as("ada");
  Station station(router, options);
  const std::string who = R"({"jsonrpc":"2.0","id":1,"method":"who"})";
  EXPECT_EQ(station.receive(who), answer("ada at "));
  station.peer->set_connection_facts(keep({.peer = "p"}));
  EXPECT_EQ(station.receive(who), answer("ada at p"));
  station.peer->set_connection_facts(keep({.identity = known_as("bob"), .peer = "p"}));
  EXPECT_EQ(station.receive(who), answer("bob at p"));
  station.peer->set_connection_facts(nullptr);
  EXPECT_EQ(station.receive(who), answer("bob at p"));
  EXPECT_EQ(ask(station, "late", *keep({.peer = "q"})), answer("nobody at q"))
      << "a message's own stand in place of them";
}

TEST_F(Peers, MiddlewareSeesThem) {
  std::vector<std::string> seen;
  router->use({.before = [&](Context& cx) -> Result<void> {
                 seen.push_back(describe(cx.facts()));
                 return {};
               },
               .after = {}});
  Station station(router);
  ask(station, "who", {.peer = "p"});
  EXPECT_EQ(seen, std::vector<std::string>{"nobody at p"});
}

}  // namespace
}  // namespace godwit::rpc
