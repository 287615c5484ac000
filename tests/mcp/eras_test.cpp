#include "mcp/era/eras.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/mcp/revision.hpp"
#include "mcp/era/stateless_headers.hpp"

namespace godwit::inline v0::mcp {
namespace {

const Eras& eras() { return Eras::built_in(); }

/// A message and what becomes of it.
struct Tried {
  explicit Tried(std::string method, std::string_view text = "{}", const Codec* agreed = nullptr,
                 bool wants_answer = true, const rpc::HeaderFields* fields = nullptr)
      : params(*document.parse(text)), facts(find_facts(params.find("_meta"))) {
    Incoming message{.method = method,
                     .params = params,
                     .meta = params.find("_meta"),
                     .facts = facts,
                     .wants_answer = wants_answer,
                     .fields = fields};
    admission = eras().admit(message, agreed);
  }
  std::int64_t code() const { return admission.error ? admission.error->code : 0; }
  std::string_view revision() const {
    return admission.codec ? admission.codec->revision() : std::string_view();
  }

  json::Document document;
  json::View params;
  RequestFacts facts;
  Admission admission;
};

std::string meta(std::string_view revision, std::string_view more = "") {
  return R"({"_meta":{"io.modelcontextprotocol/protocolVersion":")" + std::string(revision) +
         R"(","io.modelcontextprotocol/clientCapabilities":{})" + std::string(more) + "}}";
}

TEST(Eras, EveryRevisionIsInOneOfTheLists) {
  ASSERT_EQ(revisions().size(), eras().by_handshake().size() + eras().alone().size());
  EXPECT_EQ(revisions().front(), eras().newest_alone().revision());
  EXPECT_EQ(revisions().back(), eras().by_handshake().front()->revision());
  for (const std::string_view revision : revisions()) {
    const Codec* const codec = eras().find(revision);
    ASSERT_TRUE(codec) << revision;
    EXPECT_EQ(codec->revision(), revision);
    EXPECT_NE(eras().by_handshake(revision) == codec, eras().alone(revision) == codec) << revision;
  }
  EXPECT_FALSE(eras().find("1999-01-01"));
  EXPECT_FALSE(eras().find(""));
}

TEST(Eras, AHandshakeLeadsToWhatIsWantedOrToTheNewest) {
  for (const Codec* const codec : eras().by_handshake()) {
    EXPECT_EQ(&eras().negotiate(codec->revision()), codec);
  }
  EXPECT_EQ(&eras().negotiate("1999-01-01"), &eras().newest_by_handshake());
  // Nobody can agree on one whose requests stand alone.
  EXPECT_EQ(&eras().negotiate(eras().newest_alone().revision()), &eras().newest_by_handshake());
}

TEST(Eras, TheBestOfWhatIsOfferedIsTheNewestThatIsSpoken) {
  const std::vector<std::string> offered = {"2099-01-01", "2024-11-05", "2025-06-18", "2025-03-26"};
  EXPECT_EQ(eras().best_by_handshake(offered)->revision(), "2025-06-18");
  EXPECT_FALSE(eras().best_alone(offered));
  const std::vector<std::string> all(revisions().begin(), revisions().end());
  EXPECT_EQ(eras().best_by_handshake(all), &eras().newest_by_handshake());
  EXPECT_EQ(eras().best_alone(all), &eras().newest_alone());
}

TEST(Eras, AMessageThatNamesItsRevisionIsServedInIt) {
  const Codec* const agreed = eras().by_handshake().front();
  for (const Codec* const before : {static_cast<const Codec*>(nullptr), agreed}) {
    const Tried tried("tools/call", meta("2026-07-28"), before);
    EXPECT_EQ(tried.code(), 0);
    EXPECT_EQ(tried.revision(), "2026-07-28");
    ASSERT_TRUE(tried.admission.method);
    EXPECT_EQ(tried.admission.method->operation, Operation::call_tool);
  }
  EXPECT_EQ(Tried("tools/call", meta("2099-01-01"), agreed).code(), -32022);
  EXPECT_EQ(Tried("tools/call", meta("2025-06-18"), agreed).code(), -32022);
}

TEST(Eras, WithoutANameItIsServedInWhatWasAgreedOn) {
  for (const Codec* const agreed : eras().by_handshake()) {
    const Tried tried("tools/call", R"({"name":"x","_meta":{"progressToken":1}})", agreed);
    EXPECT_EQ(tried.admission.codec, agreed);
    EXPECT_TRUE(tried.admission.method);
    // A request is not the notification of that name, nor the other way round.
    EXPECT_FALSE(Tried("tools/call", "{}", agreed, false).admission.method);
    EXPECT_FALSE(Tried("notifications/initialized", "{}", agreed).admission.method);
    EXPECT_FALSE(Tried("server/discover", "{}", agreed).admission.method);
  }
}

TEST(Eras, BeforeAnAgreementThereIsTheHandshakeAndPing) {
  for (const std::string method : {"initialize", "ping"}) {
    const Tried tried(method);
    EXPECT_EQ(tried.code(), 0) << method;
    EXPECT_TRUE(tried.admission.method) << method;
  }
  EXPECT_EQ(Tried("tools/list").code(), -32600);
  EXPECT_EQ(Tried("nobody/knows").code(), -32600);
  // It can only be meant to stand alone.
  EXPECT_EQ(Tried("server/discover").code(), -32602);
}

TEST(Eras, NotificationsAreNeverRefusedForWhatTheyLack) {
  EXPECT_EQ(Tried("notifications/cancelled", "{}", nullptr, false).code(), 0);
  EXPECT_EQ(Tried("notifications/cancelled", meta("2099-01-01"), nullptr, false).code(), 0);
}

TEST(Eras, WhatIsNoRequestAtAllIsABadRequestOverHttp) {
  const Tried tried("tools/list", R"({"_meta":[]})", eras().by_handshake().front());
  EXPECT_EQ(tried.code(), -32602);
  ASSERT_TRUE(tried.admission.error->http);
  EXPECT_EQ(tried.admission.error->http->status, 400);
  const Tried unknown("tools/list", meta("2099-01-01"));
  ASSERT_TRUE(unknown.admission.error->http);
  EXPECT_EQ(unknown.admission.error->http->status, 400);
}

TEST(Eras, WithFieldsThatCountAMessageStandsAlone) {
  const std::vector<HeaderField> none;
  const rpc::HeaderFields fields{none};
  // Also where something was agreed on.
  const Tried tried("tools/list", "{}", eras().by_handshake().front(), true, &fields);
  EXPECT_EQ(tried.code(), -32020);
  const std::vector<HeaderField> said = {{"MCP-Protocol-Version", "2026-07-28"},
                                         {"Mcp-Method", "tools/call"}};
  const rpc::HeaderFields other{said};
  EXPECT_EQ(Tried("tools/list", meta("2026-07-28"), nullptr, true, &other).code(), -32020);
  EXPECT_EQ(Tried("tools/call", meta("2026-07-28"), nullptr, true, &other).code(), 0);
}

TEST(Eras, TheLevelOfARequestIsReadWhenItIsAdmitted) {
  const Tried good("tools/list",
                   meta("2026-07-28", R"(,"io.modelcontextprotocol/logLevel":"warning")"));
  EXPECT_EQ(good.code(), 0);
  EXPECT_EQ(good.facts.log_level, LoggingLevel::warning);
  EXPECT_EQ(Tried("tools/list", meta("2026-07-28", R"(,"io.modelcontextprotocol/logLevel":"loud")"))
                .code(),
            -32602);
  // One that nobody speaks need not be understood.
  EXPECT_EQ(Tried("tools/list", meta("2099-01-01", R"(,"io.modelcontextprotocol/logLevel":"loud")"))
                .code(),
            -32022);
}

TEST(Eras, KnowTheMethodsOfAll) {
  EXPECT_TRUE(eras().know("initialize"));
  EXPECT_TRUE(eras().know("server/discover"));
  EXPECT_FALSE(eras().know("sampling/createMessage"));  // servers ask that
  EXPECT_FALSE(eras().know("nobody/knows"));
}

}  // namespace
}  // namespace godwit::inline v0::mcp
