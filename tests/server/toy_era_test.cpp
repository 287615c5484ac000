// A third era, added from outside: a codec of this test's own for a revision that does not exist,
// handed to the Gate beside those of the library. What it takes is what docs/protocol-eras.md says.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/server/server.hpp"
#include "mcp/era/eras.hpp"
#include "mcp_station.hpp"
#include "rpc_station.hpp"
#include "server/gate.hpp"

namespace godwit::inline v0 {
namespace {

using mcp::Codec;
using mcp::Eras;
using mcp::Method;
using mcp::Operation;
using mcp::Side;
using test::code_of;
using test::parse;
using test::text_of;

constexpr Method toy_methods[] = {
    {"toy/run", Operation::call_tool, Side::server, false},
    {"toy/tools", Operation::list_tools, Side::server, false},
    {"toy/ask", Operation::elicit, Side::client, false},
    {"toy/progress", Operation::progress, Side::client, true},
};

/// Its requests stand alone. It calls things by names of its own, says in each result whose it is,
/// and shows no more of a tool than its name.
class ToyCodec final : public Codec {
 public:
  ToyCodec() : Codec("toy-1", toy_methods) {}

  void write_tool(json::Writer& writer, const Tool& tool) const override {
    writer.value(tool.name);
  }
  void begin_result(json::Writer& writer) const override {
    Codec::begin_result(writer);
    writer.key("toy");
    writer.value(true);
  }
  void begin_typed_result(json::Writer& writer, std::string_view type) const override {
    begin_result(writer);
    writer.key("type");
    writer.value(type);
  }
  void write_structured(json::Writer& writer, std::string_view json) const override {
    writer.key("value");
    writer.raw(json);
  }
  void write_progress(json::Writer& writer, const mcp::ProgressReport& report) const override {
    writer.begin_object();
    writer.key("at");
    writer.value(report.progress);
    writer.end_object();
  }
  mcp::Worded word_form(const ElicitRequest& form, const ClientCapabilities&) const override {
    return "{\"say\":" + json::quote(form.message) + "}";
  }
};

constexpr Method hand_methods[] = {
    {"initialize", Operation::initialize, Side::server, false},
    {"notifications/initialized", Operation::initialized, Side::server, true},
    {"hand/run", Operation::call_tool, Side::server, false},
    {"hand/ask", Operation::elicit, Side::client, false},
};

/// A handshake agrees on it, and clients are asked by requests.
class HandshakeCodec final : public Codec {
 public:
  HandshakeCodec() : Codec("toy-2", hand_methods) {}

  void write_handshake_result(json::Writer& writer, const mcp::ServerFacts& server) const override {
    writer.begin_object();
    writer.key("protocolVersion");
    writer.value(revision());
    writer.key("name");
    writer.value(server.info.name);
    writer.end_object();
  }
  void read_sender(const mcp::RequestFacts&, Implementation&, ClientCapabilities&) const override {}
  const ServerCapabilities& offered(const ServerCapabilities& promised,
                                    const ServerCapabilities&) const noexcept override {
    return promised;
  }
  void between_requests(Function<void()> use) const override { use(); }
  void ask(mcp::Asking& ways) const override { ways.by_requests(); }
};

const Eras& with_toys() {
  static const ToyCodec toy;
  static const HandshakeCodec hand;
  static const std::array<const Codec*, 2> alone = {&toy, &Eras::built_in().newest_alone()};
  // Before the others, as if it were the oldest.
  static const std::vector<const Codec*> by_handshake = [] {
    std::vector<const Codec*> all = {&hand};
    for (const Codec* each : Eras::built_in().by_handshake()) all.push_back(each);
    return all;
  }();
  static const Eras eras(by_handshake, alone);
  return eras;
}

struct Sum {
  int value{};
};
struct Name {
  std::string name{};
};

Server toy_server() {
  Server server(test::server_options());
  server.tool("era", "", [](Context& cx) { return std::string(cx.revision()); });
  server.tool("sum", "Adds", [](Context& cx) {
    cx.progress(1);
    return Sum{.value = 3};
  });
  server.tool("greet", "", [](Context& cx) -> Result<std::string> {
    const auto answer = cx.elicit<Name>("who", "Who?");
    if (!answer) return answer.error();
    return "Hello " + answer->value().name;
  });
  return server;
}

/// A connection of the server on which the toys are spoken, too.
struct ToyLink {
  ToyLink() {
    auto router = std::make_shared<rpc::Router>();
    router->fallback(std::make_unique<detail::server::Gate>(with_toys()));
    station.emplace(std::move(router), server.peer_options());
  }
  json::Value ask(std::string_view method, std::string_view params) {
    const std::string sent =
        station->receive(R"({"jsonrpc":"2.0","id":1,"method":)" + json::quote(method) +
                         R"(,"params":)" + std::string(params) + "}");
    return parse(sent.substr(sent.rfind('\n') + 1));
  }
  json::Value initialize(std::string_view revision) {
    return ask("initialize", R"({"protocolVersion":)" + json::quote(revision) +
                                 R"(,"capabilities":{"elicitation":{}},)"
                                 R"("clientInfo":{"name":"tester","version":"9"}})");
  }

  const Server server = toy_server();
  std::optional<test::Station> station;
};

const std::string toy_meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"toy-1"})";

TEST(ToyEra, ACallOfAToolGoesThroughIt) {
  ToyLink link;
  EXPECT_EQ(link.ask("toy/run", R"({"name":"era",)" + toy_meta + "}")["result"],
            parse(R"({"toy":true,"content":[{"type":"text","text":"toy-1"}]})"));
  EXPECT_EQ(link.ask("toy/run", R"({"name":"sum",)" + toy_meta + "}")["result"]["value"],
            parse(R"({"value":3})"));
  EXPECT_EQ(link.ask("toy/tools", "{" + toy_meta + "}")["result"]["tools"],
            parse(R"(["era","sum","greet"])"));
}

TEST(ToyEra, ItTellsAndAsksInItsOwnWords) {
  ToyLink link;
  link.ask("toy/run", R"({"name":"sum","_meta":{"progressToken":7,)"
                      R"("io.modelcontextprotocol/protocolVersion":"toy-1"}})");
  ASSERT_EQ(link.station->sent.size(), 2u);
  EXPECT_EQ(parse(link.station->sent[0]),
            parse(R"({"jsonrpc":"2.0","method":"toy/progress","params":{"at":1.0}})"));
  const json::Value asked = link.ask("toy/run", R"({"name":"greet",)" + toy_meta + "}")["result"];
  EXPECT_EQ(asked["type"].as_string(), "input_required");
  EXPECT_EQ(asked["inputRequests"]["who"],
            parse(R"({"method":"toy/ask","params":{"say":"Who?"}})"));
  const std::string again = R"({"name":"greet","requestState":)" + asked["requestState"].dump() +
                            R"(,"inputResponses":{"who":)"
                            R"({"action":"accept","content":{"name":"you"}}},)" +
                            toy_meta + "}";
  EXPECT_EQ(text_of(link.ask("toy/run", again)), "Hello you");
}

TEST(ToyEra, WordsOfOtherErasAreNotItsOwn) {
  ToyLink link;
  EXPECT_EQ(code_of(link.ask("tools/call", R"({"name":"era",)" + toy_meta + "}")), -32601);
  EXPECT_EQ(code_of(link.ask("ping", "{" + toy_meta + "}")), -32601);
}

TEST(ToyEra, TheErasOfTheLibraryAreServedBesideIt) {
  ToyLink link;
  const std::string modern = R"({"name":"era","_meta":{)"
                             R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{}}})";
  EXPECT_EQ(text_of(link.ask("tools/call", modern)), "2026-07-28");
  EXPECT_EQ(text_of(link.ask("toy/run", R"({"name":"era",)" + toy_meta + "}")), "toy-1");
  link.initialize("2025-06-18");
  EXPECT_EQ(text_of(link.ask("tools/call", R"({"name":"era"})")), "2025-06-18");
  EXPECT_EQ(text_of(link.ask("toy/run", R"({"name":"era",)" + toy_meta + "}")), "toy-1");
}

TEST(ToyEra, AnUnknownRevisionIsToldOfAll) {
  ToyLink link;
  const json::Value answer =
      link.ask("tools/list", R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"toy-9",)"
                             R"("io.modelcontextprotocol/clientCapabilities":{}}})");
  EXPECT_EQ(code_of(answer), -32022);
  EXPECT_EQ(answer["error"]["data"]["supported"], parse(R"(["toy-1","2026-07-28"])"));
  const json::Value found = link.ask(
      "server/discover", R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                         R"("io.modelcontextprotocol/clientCapabilities":{}}})");
  EXPECT_EQ(found["result"]["supportedVersions"],
            parse(R"(["2026-07-28","toy-1","2025-11-25","2025-06-18","2025-03-26","2024-11-05",)"
                  R"("toy-2"])"));
}

TEST(ToyEra, AHandshakeCanAgreeOnOne) {
  ToyLink link;
  EXPECT_EQ(link.initialize("toy-2")["result"],
            parse(R"({"protocolVersion":"toy-2","name":"test"})"));
  EXPECT_EQ(text_of(link.ask("hand/run", R"({"name":"era"})")), "toy-2");
  EXPECT_EQ(code_of(link.ask("tools/call", R"({"name":"era"})")), -32601);
  // The client is asked by a request, and the call waits for its answer.
  link.station->receive(
      R"({"jsonrpc":"2.0","id":5,"method":"hand/run","params":{"name":"greet"}})");
  link.station->peer->process();
  ASSERT_EQ(link.station->sent.size(), 1u);
  const json::Value asked = parse(link.station->sent[0]);
  EXPECT_EQ(asked["method"].as_string(), "hand/ask");
  link.station->receive(R"({"jsonrpc":"2.0","id":)" + asked["id"].dump() +
                        R"(,"result":{"action":"accept","content":{"name":"you"}}})");
  link.station->peer->process();
  ASSERT_EQ(link.station->sent.size(), 1u);
  EXPECT_EQ(text_of(parse(link.station->sent[0])), "Hello you");
}

TEST(ToyEra, IsUnknownWhereItWasNotAdded) {
  const Server server = toy_server();
  test::Link link(server);
  link.raw("1", "toy/run", parse(R"({"name":"era",)" + toy_meta + "}"));
  EXPECT_EQ(code_of(link.take_answer("1")), -32602);  // no capabilities in it, to begin with
  EXPECT_EQ(revisions().size(), 5u);
}

}  // namespace
}  // namespace godwit::inline v0
