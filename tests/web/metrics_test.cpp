#include "godwit/web/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "site.hpp"

namespace godwit::inline v0 {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A site that counts, and tells at /metrics.
SiteOptions counting(const std::shared_ptr<Metrics>& metrics) {
  SiteOptions options;
  options.endpoint.metrics = metrics;
  options.endpoint.metrics_path = "/metrics";
  options.endpoint.health_path = "/health";
  return options;
}

TEST(Metrics, CountsByMethodAndOutcome) {
  const auto metrics = std::make_shared<Metrics>();
  Site site(counting(metrics));
  site.server.use(metrics->middleware());
  site.server.tool("t", "", [] { return "t"; });
  const std::string session = site.connect();
  site.send(Site::in(session, Site::tool_body("1", "t")));
  site.send(Site::in(session, Site::tool_body("2", "nobody")));
  const std::string text = metrics->text();
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="tools/call",outcome="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="tools/call",outcome="error"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(godwit_request_seconds_count{method="tools/call"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(le="+Inf"} 2)"));
  EXPECT_THAT(text, HasSubstr("godwit_sessions 1\n"));
  EXPECT_THAT(text, HasSubstr("godwit_open_exchanges 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("godwit_sent_bytes_total 0\n")));
}

TEST(Metrics, MadeUpMethodsAreOne) {
  const auto metrics = std::make_shared<Metrics>();
  Site site(counting(metrics));
  site.server.use(metrics->middleware());
  site.server.tool("t", "", [] { return "t"; });
  const std::string session = site.connect();
  for (int i = 0; i < 100; ++i) {
    const std::string method = "made/up" + std::to_string(i);
    site.send(Site::in(session, R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"("})"));
    site.send(Site::in(session, R"({"jsonrpc":"2.0","method":"notifications/)" + method + R"("})"));
  }
  site.send(Site::in(session, Site::tool_body("1", "t")));
  const std::string text = metrics->text();
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="tools/call",outcome="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="unknown",outcome="ok"} 100)"));
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="unknown",outcome="error"} 100)"));
  EXPECT_THAT(text, Not(HasSubstr("made/up")));
}

TEST(Metrics, MethodsOfTheProgramHaveTheirNames) {
  const auto metrics = std::make_shared<Metrics>();
  Site site(counting(metrics));
  site.server.use(metrics->middleware());
  const std::string name = "my/\\ \"\u00e9\"";
  site.server.method(name, [] {});
  site.server.method("my/fault", []() -> Result<void> { return error("no"); });
  const std::string session = site.connect();
  site.send(Site::in(session, R"({"jsonrpc":"2.0","id":1,"method":)" + json::quote(name) + "}"));
  site.send(Site::in(session, R"({"jsonrpc":"2.0","id":1,"method":"my/fault"})"));
  const std::string text = metrics->text();
  // As Prometheus reads it: \\, \" and \n, and nothing else escaped.
  EXPECT_THAT(text, HasSubstr("{method=\"my/\\\\ \\\"\u00e9\\\"\",outcome=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="my/fault",outcome="error"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST(Metrics, StreamsThatEndBetweenRequestsAreNotOpen) {
  const auto metrics = std::make_shared<Metrics>();
  Site site(counting(metrics));
  Parked parked;
  site.server.tool("wait", "", parked.handler());
  const std::string session = site.connect();
  FakeExchange& left = site.send(Site::in(session, Site::tool_body("1", "wait")));
  EXPECT_THAT(metrics->text(), HasSubstr("godwit_open_exchanges 1\n"));
  const std::string primed = left.events().at(0).id.value();
  left.go();
  EXPECT_THAT(metrics->text(), HasSubstr("godwit_open_exchanges 0\n"));
  parked.replies[0](std::string(200'000, 'x'));
  site.process();
  FakeExchange slow;
  slow.stuck = true;
  FakeRequest again = Site::get(session, primed);
  site.web().on_request(again.get(), slow);
  EXPECT_THAT(metrics->text(), HasSubstr("godwit_open_exchanges 1\n"));
  for (int i = 0; i < 100 && slow.streaming(); ++i) slow.take();
  EXPECT_TRUE(slow.ended());
  EXPECT_THAT(metrics->text(), HasSubstr("godwit_open_exchanges 0\n"));
}

TEST(Metrics, AddsUpItsParts) {
  Metrics metrics;
  metrics.set(0, {.sessions = 2, .open_exchanges = 1, .bytes_in = 10, .bytes_out = 100});
  metrics.set(1, {.sessions = 3, .open_exchanges = 1, .bytes_in = 20, .bytes_out = 200});
  metrics.set(1, {.sessions = 4, .open_exchanges = 0, .bytes_in = 30, .bytes_out = 300});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("godwit_sessions 6\n"));
  EXPECT_THAT(text, HasSubstr("godwit_open_exchanges 1\n"));
  EXPECT_THAT(text, HasSubstr("godwit_received_bytes_total 40\n"));
  EXPECT_THAT(text, HasSubstr("godwit_sent_bytes_total 400\n"));
}

}  // namespace
}  // namespace godwit::inline v0
