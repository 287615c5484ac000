// An Endpoint with clients of the oldest revision, whose transport has two addresses.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::has;

struct OldSse : testing::Test {
  static SiteOptions with_path() {
    SiteOptions options;
    options.endpoint.sse_path = "/sse";
    options.server.limits.in_flight = 3;
    return options;
  }
  OldSse() : site(with_path()) {
    site.server.tool("echo", "", [](City in) { return in.city; });
    site.server.tool("wait", "", parked.handler());
  }
  FakeExchange& open() {
    return site.send(
        FakeRequest("GET", "/sse").with("Host", "localhost").with("Accept", "text/event-stream"));
  }
  /// Where the stream says to send to.
  static std::string address(const FakeExchange& x) {
    const std::size_t at = x.body.find("data: ");
    return x.body.substr(at + 6, x.body.find('\n', at) - at - 6);
  }
  FakeExchange& post(const std::string& to, std::string_view body) {
    return site.send(FakeRequest("POST", to)
                         .with("Host", "localhost")
                         .with("Content-Type", "application/json")
                         .body(body));
  }
  FakeExchange& connect(std::string& to) {
    FakeExchange& x = open();
    to = address(x);
    EXPECT_EQ(post(to, Site::initialize_body("2024-11-05")).status, 202);
    post(to, Site::legacy_body("", "notifications/initialized"));
    return x;
  }

  Parked parked;
  Site site;
};

TEST_F(OldSse, TheStreamSaysFirstWhereToSendTo) {
  FakeExchange& x = open();
  ASSERT_TRUE(x.streaming());
  EXPECT_EQ(x.type, "text/event-stream");
  EXPECT_TRUE(x.body.starts_with("event: endpoint\ndata: /sse?")) << x.body;
  FakeExchange& y = open();
  EXPECT_NE(address(x), address(y));
  EXPECT_GE(address(x).size(), 32u);
}

TEST_F(OldSse, EverythingComesOnTheStreamAsMessages) {
  std::string to;
  FakeExchange& x = connect(to);
  EXPECT_TRUE(has(x.body, R"("protocolVersion":"2024-11-05")"));
  FakeExchange& posted = post(to, Site::tool_body("1", "echo", R"({"city":"Oslo"})"));
  EXPECT_EQ(outcome(posted), "202");
  EXPECT_TRUE(has(x.body, "event: message\ndata: {"));
  EXPECT_TRUE(has(x.body, "Oslo"));
  post(to, Site::tool_body("2", "wait"));
  parked.replies[0]("late");
  site.process();
  EXPECT_TRUE(has(x.body, "late"));
  site.server.tool("new", "", [] { return ""; });
  site.process();
  EXPECT_TRUE(has(x.body, "notifications/tools/list_changed"));
  site.pass(Limits{}.sse_keep_alive);
  EXPECT_TRUE(x.body.ends_with(":\n\n"));
}

TEST_F(OldSse, OnlyThoseWhoKnowTheAddressCanSend) {
  std::string to;
  FakeExchange& x = connect(to);
  const std::size_t before = x.body.size();
  EXPECT_EQ(post("/sse", "{}").status, 400);
  EXPECT_EQ(post("/sse?session=", "{}").status, 404);
  EXPECT_EQ(post(to + "0", "{}").status, 404);
  EXPECT_EQ(post(to.substr(0, to.size() - 1), "{}").status, 404);
  EXPECT_EQ(post(to, "{").status, 400);
  EXPECT_EQ(site.send(FakeRequest("POST", to).with("Host", "localhost").body("{}")).status, 415);
  EXPECT_EQ(site.send(FakeRequest("PUT", to).with("Host", "localhost")).status, 405);
  EXPECT_EQ(site.send(FakeRequest("GET", "/sse")
                          .with("Host", "evil.example")
                          .with("Accept", "text/event-stream"))
                .status,
            403);
  EXPECT_EQ(x.body.size(), before);
}

TEST_F(OldSse, TheEndOfTheStreamIsTheEndOfTheSession) {
  std::string to;
  FakeExchange& x = connect(to);
  post(to, Site::tool_body("2", "wait"));
  const std::stop_token stop = parked.replies[0].cancelled();
  x.go();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  site.process();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(post(to, Site::legacy_body("3", "ping")).status, 404);
}

TEST_F(OldSse, DrainEndsTheStream) {
  std::string to;
  FakeExchange& x = connect(to);
  site.web().drain();
  EXPECT_TRUE(x.ended());
  EXPECT_EQ(open().status, 503);
}

TEST_F(OldSse, TakingBackIsAlwaysLetIn) {
  std::string to;
  connect(to);
  for (int i = 1; i <= 3; ++i) post(to, Site::tool_body(std::to_string(i), "wait"));
  EXPECT_EQ(post(to, Site::tool_body("4", "wait")).status, 429);
  EXPECT_EQ(post(to, Site::legacy_body("", "notifications/cancelled", R"({"requestId":1})")).status,
            202);
}

TEST_F(OldSse, WhereItIsNotAskedForThereIsNothing) {
  Site other;
  FakeExchange& x = other.send(
      FakeRequest("GET", "/sse").with("Host", "localhost").with("Accept", "text/event-stream"));
  EXPECT_EQ(x.status, 404);
}

}  // namespace
}  // namespace godwit::inline v0
