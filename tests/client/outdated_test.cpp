// Calls of tools over a carrier with fields, when the server finds that the fields do not agree:
// the list of tools is fetched again, and the call is made once more.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/client/client_session.hpp"
#include "rig.hpp"

namespace godwit::inline v0 {
namespace {

using test::Outcome;
using test::Rig;

/// A connection whose messages have fields.
struct Carrier final : rpc::Output {
  struct Sent {
    json::Value message;
    rpc::MessageFields fields;
    std::string field(std::string_view name) const {
      for (const auto& [key, value] : fields) {
        if (key == name) return value;
      }
      return "none";
    }
  };

  explicit Carrier(bool handshake = false) {
    ClientOptions options;
    options.lifecycle = handshake ? Lifecycle::stateful : Lifecycle::stateless;
    options.log = Log();
    session.emplace(std::move(options));
    peer.emplace(*this, session->router(), session->peer_options());
    session->start(*peer, [](Result<void> outcome) { EXPECT_TRUE(outcome); });
    const std::string revision = handshake ? test::newest_stateful() : test::newest();
    answer(next(), handshake ? Rig::initialize_result(revision) : Rig::discover_result());
    if (handshake) next();
    EXPECT_TRUE(session->ready());
  }

  std::string& output() override { return buffer; }
  void finish(const rpc::Outbound& message) override {
    sent.push_back({*json::parse(std::string_view(buffer).substr(message.begin)),
                    message.fields ? *message.fields : rpc::MessageFields()});
    buffer.resize(message.begin);
  }
  void flush() override {}
  bool has_fields() const noexcept override { return true; }

  Sent next() {
    if (sent.empty()) {
      ADD_FAILURE() << "the client sent nothing";
      return {};
    }
    Sent first = std::move(sent.front());
    sent.pop_front();
    return first;
  }
  Sent next(std::string_view method) {
    Sent first = next();
    EXPECT_EQ(first.message["method"].as_string(), method) << first.message.dump();
    return first;
  }
  void receive(const Sent& request, const std::string& outcome) {
    peer->receive(R"({"jsonrpc":"2.0","id":)" + request.message["id"].dump() + "," + outcome + "}");
    peer->process();
  }
  void answer(const Sent& request, const std::string& result) {
    receive(request, "\"result\":" + result);
  }
  void mismatch(const Sent& request, int code = -32020) {
    receive(request,
            R"("error":{"code":)" + std::to_string(code) + R"(,"message":"Header mismatch"})");
  }
  void list(const Sent& request, const std::string& header) {
    answer(request, R"({"resultType":"complete","tools":[{"name":"t","inputSchema":)"
                    R"({"type":"object","properties":{"region":{"type":"string",)"
                    R"("x-mcp-header":")" +
                        header + R"("}}}}]})");
  }
  ClientCall call(Outcome<ToolResult>& outcome) {
    return session->call_tool("t", RawJson{R"({"region":"north"})"}, outcome.taker());
  }

  std::string buffer;
  std::deque<Sent> sent;
  std::optional<ClientSession> session;
  std::optional<rpc::Peer> peer;
};

const std::string done = R"({"resultType":"complete","content":[{"type":"text","text":"x"}]})";

TEST(Outdated, TheListIsFetchedAndTheCallMadeOnceMore) {
  Carrier carrier;
  Outcome<ToolResult> outcome;
  carrier.call(outcome);
  const Carrier::Sent first = carrier.next("tools/call");
  EXPECT_EQ(first.field("Mcp-Method"), "tools/call");
  EXPECT_EQ(first.field("Mcp-Name"), "t");
  EXPECT_EQ(first.field("Mcp-Param-Region"), "none");  // nobody knows of it yet
  carrier.mismatch(first);
  EXPECT_FALSE(outcome);
  carrier.list(carrier.next("tools/list"), "Region");
  const Carrier::Sent second = carrier.next("tools/call");
  EXPECT_EQ(second.field("Mcp-Param-Region"), "north");
  EXPECT_EQ(second.message["params"], first.message["params"]);
  carrier.answer(second, done);
  EXPECT_TRUE(outcome.good());
  EXPECT_TRUE(carrier.sent.empty());
}

TEST(Outdated, ASecondRefusalIsTheOutcome) {
  Carrier carrier;
  Outcome<ToolResult> outcome;
  carrier.call(outcome);
  carrier.mismatch(carrier.next("tools/call"));
  carrier.list(carrier.next("tools/list"), "Region");
  carrier.mismatch(carrier.next("tools/call"));
  EXPECT_EQ(outcome.error().code, -32020);
  EXPECT_TRUE(carrier.sent.empty());
}

TEST(Outdated, AListThatFailsIsTheOutcome) {
  Carrier carrier;
  Outcome<ToolResult> outcome;
  carrier.call(outcome);
  carrier.mismatch(carrier.next("tools/call"));
  carrier.mismatch(carrier.next("tools/list"), -32603);
  EXPECT_EQ(outcome.error().code, -32603);
  EXPECT_TRUE(carrier.sent.empty());
}

TEST(Outdated, OtherErrorsAndOtherErasAreNoReasonToRepeatIt) {
  Carrier carrier;
  Outcome<ToolResult> other;
  carrier.call(other);
  carrier.mismatch(carrier.next("tools/call"), -32602);
  EXPECT_EQ(other.error().code, -32602);
  EXPECT_TRUE(carrier.sent.empty());
  Carrier stateful(true);
  Outcome<ToolResult> outcome;
  stateful.call(outcome);
  const Carrier::Sent request = stateful.next("tools/call");
  EXPECT_TRUE(request.fields.empty());
  stateful.mismatch(request);
  EXPECT_EQ(outcome.error().code, -32020);
  EXPECT_TRUE(stateful.sent.empty());
}

TEST(Outdated, CancellingEndsItWhileTheListIsFetched) {
  Carrier carrier;
  Outcome<ToolResult> outcome;
  const ClientCall call = carrier.call(outcome);
  carrier.mismatch(carrier.next("tools/call"));
  carrier.next("tools/list");
  EXPECT_TRUE(carrier.session->cancel(call, "no longer"));
  EXPECT_TRUE(outcome);
  EXPECT_FALSE(outcome.good());
  carrier.next("notifications/cancelled");
  EXPECT_TRUE(carrier.sent.empty());
  EXPECT_FALSE(carrier.session->cancel(call, "twice"));
}

TEST(Outdated, TheEndOfTheSessionOrOfTheConnectionEndsIt) {
  for (const bool connection : {false, true}) {
    Carrier carrier;
    Outcome<ToolResult> outcome;
    carrier.call(outcome);
    carrier.mismatch(carrier.next("tools/call"));
    carrier.next("tools/list");
    if (connection) {
      carrier.peer.reset();
    } else {
      carrier.session.reset();
    }
    EXPECT_TRUE(outcome);
    EXPECT_FALSE(outcome.good());
  }
}

}  // namespace
}  // namespace godwit::inline v0
