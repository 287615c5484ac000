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

TEST(Metrics, MadeUpMethodsDoNotGrowIt) {
  Metrics metrics;
  const rpc::Middleware middleware = metrics.middleware();
  for (int i = 0; i < 1000; ++i) {
    const std::string method = "made/up" + std::to_string(i);
    rpc::Outcome outcome(method, false, std::chrono::microseconds(10));
    middleware.after(outcome);
  }
  const std::string text = metrics.text();
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_THAT(text, HasSubstr(R"(godwit_requests_total{method="other",outcome="ok"})"));
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
