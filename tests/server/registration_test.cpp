// What a Server refuses to offer, with a sentence that says why; and where it tells of trouble if
// the program gave it no log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "mcp_station.hpp"

namespace godwit::inline v0 {
namespace {

using test::Link;

/// What the exception of a registration says; empty if there is none.
template <class F>
std::string why(F&& offer) {
  try {
    offer();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

std::string text() { return "x"; }
using Map = std::map<std::string, std::string>;
std::string from_map(Map) { return "x"; }

struct Row {
  std::string table{};
  std::optional<std::string> limit{};
};
struct Topic {
  std::string topic{};
};

class Registration : public testing::Test {
 protected:
  Server server{test::server_options()};
};

TEST_F(Registration, ToolNamesAreThoseThatEveryClientTakes) {
  for (const std::string& good :
       {std::string("a"), std::string("A-b_c.9"), std::string(128, 'x')}) {
    EXPECT_EQ(why([&] { server.tool(good, "", text); }), "") << good;
  }
  for (const std::string& bad :
       {std::string(129, 'x'), std::string("two words"), std::string("a/b"), std::string("ä"),
        std::string("a\n"), std::string("a\0b", 3), std::string(100'000, ' ')}) {
    const std::string told = why([&] { server.tool(bad, "", text); });
    EXPECT_THAT(told, testing::StartsWith("godwit: ")) << bad.substr(0, 200);
    EXPECT_LT(told.size(), 600u);
  }
  EXPECT_THAT(why([&] { server.tool("two words", "", text); }),
              testing::AllOf(testing::HasSubstr("128"), testing::HasSubstr("\"two words\"")));
}

TEST_F(Registration, OtherNamesHaveNoControlCharacters) {
  for (const char* bad : {"", "a\nb", "\x7f", "\x1b[2J"}) {
    EXPECT_NE(why([&] { server.prompt(bad, "", text); }), "") << bad;
    EXPECT_NE(why([&] { server.resource("x:1", bad, text); }), "") << bad;
    EXPECT_NE(why([&] { server.resource_template("x:{v}", bad, from_map); }), "") << bad;
    EXPECT_NE(why([&] { server.method(bad, [] {}); }), "") << bad;
    EXPECT_NE(why([&] { server.notification(bad, [] {}); }), "") << bad;
    EXPECT_NE(why([&] { Server(ServerOptions{.name = bad}); }), "") << bad;
  }
  EXPECT_EQ(why([&] { server.prompt("Größe, bitte", "", text); }), "");
}

TEST_F(Registration, ATemplateAndItsStructHaveTheSameNames) {
  const auto row = [](Row in) { return in.table; };
  EXPECT_EQ(why([&] { server.resource_template("db://{table}{?limit}", "rows", row); }), "");
  EXPECT_EQ(why([&] { server.resource_template("db://{table}", "rows", row); }), "");
  EXPECT_EQ(why([&] { server.resource_template("any://{a}/{b}", "any", from_map); }), "");
  EXPECT_EQ(why([&] { server.resource_template("none://{a}", "none", text); }), "");
  EXPECT_THAT(why([&] { server.resource_template("db://{table}/{id}", "row", row); }),
              testing::AllOf(testing::HasSubstr("\"id\""), testing::HasSubstr("no field"),
                             testing::HasSubstr("\"table\", \"limit\"")));
  EXPECT_THAT(why([&] { server.resource_template("db://x{?limit}", "row", row); }),
              testing::AllOf(testing::HasSubstr("needs \"table\""),
                             testing::HasSubstr("no such variable")));
}

TEST_F(Registration, CompletersAreForWhatIsThere) {
  const Completer none = [](const CompletionQuery&) { return Completion{}; };
  server.prompt("draft", "", [](Topic in) { return in.topic; });
  server.prompt("map", "", from_map, {.arguments = {{.name = "listed"}}});
  server.resource_template("db://{table}", "rows", from_map);
  EXPECT_EQ(why([&] { server.complete_prompt("draft", "topic", none); }), "");
  EXPECT_EQ(why([&] { server.complete_prompt("map", "listed", none); }), "");
  EXPECT_EQ(why([&] { server.complete_template("db://{table}", "table", none); }), "");
  EXPECT_THAT(why([&] { server.complete_prompt("other", "topic", none); }),
              testing::HasSubstr("there is no prompt \"other\""));
  EXPECT_THAT(why([&] { server.complete_prompt("draft", "tone", none); }),
              testing::HasSubstr("no argument \"tone\" to complete; it has \"topic\""));
  EXPECT_THAT(why([&] { server.complete_prompt("map", "other", none); }),
              testing::HasSubstr("PromptOptions::arguments"));
  EXPECT_THAT(why([&] { server.complete_template("db://{id}", "id", none); }),
              testing::HasSubstr("there is no uri template \"db://{id}\""));
  EXPECT_THAT(why([&] { server.complete_template("db://{table}", "id", none); }),
              testing::HasSubstr("no variable \"id\" to complete; it has \"table\""));
  EXPECT_NE(why([&] { server.complete_prompt("draft", "topic", nullptr); }), "");
  // One that is hidden at the moment is there.
  server.enable_prompt("draft", false);
  EXPECT_EQ(why([&] { server.complete_prompt("draft", "topic", none); }), "");
}

TEST_F(Registration, AConnectionNeedsTheOptionsOfTheServer) {
  std::string sent;
  rpc::MessageSink sink([&](std::string_view message) { sent = message; });
  rpc::Peer peer(sink, server.router());
  peer.receive(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  EXPECT_THAT(sent, testing::HasSubstr("Server::peer_options"));
}

// A server that was given no log.

TEST(ServerLog, TroubleGoesToStderrAndNotToTheClient) {
  Server server{{.name = "s", .version = "1"}};
  server.tool("throws", "", []() -> std::string { throw std::runtime_error("the secret"); });
  Link link(server, test::legacy_revision);
  testing::internal::CaptureStderr();
  const json::Value answer = link.tool("throws");
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      told, testing::AllOf(testing::StartsWith("godwit error: "), testing::HasSubstr("\"throws\""),
                           testing::HasSubstr("the secret")));
  EXPECT_EQ(test::code_of(answer), -32603);
  EXPECT_THAT(answer.dump(), testing::Not(testing::HasSubstr("secret")));
}

TEST(ServerLog, ALogThatSaysNothingIsAllowed) {
  Server server{{.name = "s", .version = "1", .log = Log()}};
  server.tool("throws", "", []() -> std::string { throw std::runtime_error("x"); });
  Link link(server, test::legacy_revision);
  testing::internal::CaptureStderr();
  link.tool("throws");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace godwit::inline v0
