// Who may call an endpoint, decided by an admission of the program: on a stack that brings whole
// requests, and on a port with every route beside it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/transport/websocket.hpp"
#include "godwit/web/blocking_endpoint.hpp"
#include "godwit/web/web_server.hpp"
#include "raw_client.hpp"
#include "site.hpp"
#include "websocket_frames.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using test::has;
using test::RawClient;
using test::RawResponse;
using test::run_until;

constexpr std::string_view challenge = R"(Bearer resource_metadata="https://x.example/y")";

/// "Bearer ada" is ada. Those who say nothing are challenged; "Bearer later" waits for the test.
struct Tokens final : http::Admission {
  void decide(const http::Request& head, http::Decision& decision) override {
    ++asked;
    if (on_ask) on_ask();
    const auto token = head.fields.find("Authorization");
    if (!token) return decision.refuse(refusal());
    if (*token == "Bearer later") return late.push_back(decision.later());
    if (*token == "Bearer throw") throw std::runtime_error("secret");
    if (*token == "Bearer nothing") return;
    if (*token == "Bearer pass") return decision.pass();
    decision.admit(known(std::string(token->substr(7))));
  }
  static http::Admitted known(const std::string& who) {
    return {.identity = test::known_as(who), .fields = {{"DPoP-Nonce", "n"}}};
  }
  static http::Response refusal() {
    return {.status = 401, .fields = {{"WWW-Authenticate", challenge}}, .body = {}};
  }
  int asked = 0;
  std::function<void()> on_ask;
  std::vector<http::LateDecision> late;
};

std::string who(Context& cx) { return cx.identity() ? cx.identity()->subject : "nobody"; }

// Whole requests, as another HTTP stack brings them.

struct AdmittedSite : testing::Test {
  AdmittedSite() : AdmittedSite(Limits{}, {}) {}
  AdmittedSite(const Limits& limits, std::vector<std::string> origins)
      : site(with(limits, std::move(origins))) {
    site.server.tool("who", "", [this](Context& cx) {
      ++runs;
      return who(cx);
    });
  }
  SiteOptions with(const Limits& limits, std::vector<std::string> origins) {
    SiteOptions all;
    all.server.limits = limits;
    all.endpoint.admission = tokens;
    all.endpoint.sse_path = "/sse";
    all.endpoint.health_path = "/health";
    all.endpoint.access.origins = std::move(origins);
    return all;
  }
  static FakeRequest as(const std::string& token, FakeRequest request) {
    return request.with("Authorization", "Bearer " + token);
  }
  static FakeRequest plain(const std::string& method, const std::string& target) {
    return FakeRequest(method, target)
        .with("Host", "localhost")
        .with("Accept", "text/event-stream")
        .with("Content-Type", "application/json");
  }
  static FakeRequest call() { return Site::modern_tool("7", "who"); }

  std::shared_ptr<Tokens> tokens = std::make_shared<Tokens>();
  int runs = 0;
  Site site;
};

TEST_F(AdmittedSite, NothingRunsForThoseWhoAreRefused) {
  const std::vector<FakeRequest> routes = {call(),
                                           Site::post(Site::initialize_body("2025-11-25")),
                                           Site::in("x", Site::tool_body("1", "who")),
                                           Site::get("x"),
                                           Site::remove("x"),
                                           plain("PUT", "/mcp"),
                                           plain("GET", "/sse"),
                                           plain("POST", "/sse?session=x")};
  for (const FakeRequest& route : routes) {
    FakeExchange& refused = site.send(route);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.field("WWW-Authenticate"), challenge);
    EXPECT_EQ(refused.body, "");
  }
  EXPECT_EQ(tokens->asked, static_cast<int>(routes.size())) << "once each";
  EXPECT_EQ(site.web().sessions(), 0u);
  EXPECT_EQ(runs, 0);
}

TEST_F(AdmittedSite, SomeThingsAreOpenToAll) {
  EXPECT_EQ(site.send(plain("GET", "/health")).status, 200);
  EXPECT_EQ(site.send(plain("GET", "/nothing")).status, 404);
  EXPECT_EQ(site.send(plain("OPTIONS", "/mcp")).status, 405);
  EXPECT_EQ(site.send(call().set("Host", "evil.example")).status, 403);
  EXPECT_EQ(tokens->asked, 0);
}

TEST_F(AdmittedSite, ThoseWhoAreLetInGetFieldsWithTheAnswer) {
  FakeExchange& modern = site.send(as("ada", call()));
  EXPECT_EQ(test::text_of(modern.answer()), "ada");
  EXPECT_EQ(modern.field("DPoP-Nonce"), "n");
  FakeExchange& begun = site.send(as("ada", Site::post(Site::initialize_body("2025-11-25"))));
  EXPECT_EQ(begun.field("DPoP-Nonce"), "n");
  const std::string session = begun.field("Mcp-Session-Id");
  FakeExchange& legacy = site.send(as("ada", Site::in(session, Site::tool_body("1", "who"))));
  EXPECT_EQ(test::text_of(legacy.answer()), "ada");
  EXPECT_EQ(site.send(as("bob", Site::in(session, Site::tool_body("1", "who")))).status, 404);
  EXPECT_EQ(site.send(as("ada", plain("PUT", "/mcp"))).status, 405);
  FakeExchange& stream = site.send(as("ada", Site::get(session)));
  EXPECT_EQ(stream.field("DPoP-Nonce"), "n");
  EXPECT_EQ(site.send(as("ada", Site::remove(session))).field("DPoP-Nonce"), "n");
  EXPECT_EQ(site.send(as("ada", plain("GET", "/sse"))).field("DPoP-Nonce"), "n");
}

TEST_F(AdmittedSite, ALateDecisionLetsIn) {
  FakeExchange& modern = site.send(as("later", call()));
  FakeExchange& begun = site.send(as("later", Site::post(Site::initialize_body("2025-11-25"))));
  FakeExchange& refused = site.send(as("later", call()));
  EXPECT_EQ(site.web().open_exchanges(), 3u);
  EXPECT_EQ(runs, 0);
  tokens->late[0].admit(Tokens::known("ada"));
  std::thread([&] { tokens->late[1].admit(Tokens::known("ada")); }).join();
  tokens->late[2].refuse(Tokens::refusal());
  EXPECT_GE(site.woken, 1);
  EXPECT_TRUE(modern.waiting()) << "not from inside the call that decides";
  site.process();
  EXPECT_EQ(test::text_of(modern.answer()), "ada");
  EXPECT_EQ(modern.field("DPoP-Nonce"), "n");
  EXPECT_EQ(begun.status, 200);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  EXPECT_EQ(runs, 1);
}

TEST_F(AdmittedSite, WhoeverSaysNothingIsAnsweredForInTime) {
  FakeExchange& first = site.send(as("later", call()));
  EXPECT_EQ(site.moved, 1);
  ASSERT_TRUE(site.web().next_deadline());
  EXPECT_EQ(*site.web().next_deadline(), site.clock.now() + Limits{}.admission_time);
  site.pass(Limits{}.admission_time - 1s);
  FakeExchange& second = site.send(as("later", call()));
  EXPECT_TRUE(first.waiting());
  site.pass(1s);
  EXPECT_EQ(first.status, 503);
  EXPECT_EQ(first.field("Retry-After"), "1");
  EXPECT_TRUE(second.waiting());
  tokens->late[0].admit(Tokens::known("ada"));  // nobody waits for it
  tokens->late[1].admit(Tokens::known("ada"));
  site.process();
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(site.web().open_exchanges(), 0u);
}

TEST_F(AdmittedSite, AClientThatIsGoneIsNotServed) {
  FakeExchange& gone = site.send(as("later", call()));
  gone.go();
  EXPECT_EQ(site.web().open_exchanges(), 0u);
  tokens->late[0].admit(Tokens::known("ada"));
  site.process();
  EXPECT_EQ(runs, 0);
  FakeExchange& late = site.send(as("later", call()));
  tokens->late[1].admit(Tokens::known("ada"));
  late.go();  // after the decision, before it is heard
  site.process();
  EXPECT_EQ(runs, 0);
}

TEST_F(AdmittedSite, ADecisionMayOutliveTheEndpoint) {
  FakeExchange& waits = site.send(as("later", call()));
  site.endpoint.reset();
  EXPECT_TRUE(waits.aborted());
  tokens->late[0].admit(Tokens::known("ada"));
  EXPECT_EQ(runs, 0);
}

TEST_F(AdmittedSite, TheEndpointMayBeDestroyedByTheOneWhoDecides) {
  tokens->on_ask = [&] { site.endpoint.reset(); };
  for (const std::string token : {"ada", "later"}) {
    site.web();
    FakeExchange exchange;
    FakeRequest request = as(token, call());
    site.web().on_request(request.get(), exchange);
    EXPECT_TRUE(exchange.aborted());
    tokens->late.clear();
  }
  EXPECT_EQ(runs, 0);
}

TEST_F(AdmittedSite, OneThatThrowsOrSaysNothingIsAnsweredWith500) {
  for (const std::string token : {"throw", "nothing", "pass"}) {
    FakeExchange& failed = site.send(as(token, call()));
    EXPECT_EQ(failed.status, 500) << token;
    EXPECT_EQ(failed.body, "");
  }
  FakeExchange& dropped = site.send(as("later", call()));
  tokens->late.clear();
  site.process();
  EXPECT_EQ(dropped.status, 500);
  EXPECT_EQ(runs, 0);
}

TEST_F(AdmittedSite, DrainingServesNobodyWhoWaited) {
  FakeExchange& waits = site.send(as("later", call()));
  site.web().drain();
  tokens->late[0].admit(Tokens::known("ada"));
  site.process();
  EXPECT_EQ(waits.status, 503);
  EXPECT_EQ(runs, 0);
}

struct FewUndecided : AdmittedSite {
  static Limits few() {
    Limits limits;
    limits.process_in_flight = 3;
    limits.process_body_bytes = 100'000;
    return limits;
  }
  FewUndecided() : AdmittedSite(few(), {}) {}
};

TEST_F(FewUndecided, CountAsRequestsInFlight) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(site.send(as("later", call())).waiting());
  EXPECT_EQ(site.send(as("later", call())).status, 503);
  EXPECT_EQ(site.send(as("ada", call())).status, 503);
  tokens->late[0].refuse(Tokens::refusal());
  site.process();
  EXPECT_EQ(site.send(as("ada", call())).status, 200);
}

TEST_F(FewUndecided, CountByTheirBytesToo) {
  const std::string much = R"({"x":")" + std::string(60'000, 'x') + "\"}";
  EXPECT_TRUE(site.send(as("later", Site::modern_tool("7", "who", much))).waiting());
  EXPECT_EQ(site.send(as("later", Site::modern_tool("7", "who", much))).status, 503);
  EXPECT_TRUE(site.send(as("later", call())).waiting());
}

struct AdmittedPages : AdmittedSite {
  AdmittedPages() : AdmittedSite(Limits{}, {"https://app.example"}) {}
  static FakeRequest page(FakeRequest request) {
    return request.with("Origin", "https://app.example");
  }
};

TEST_F(AdmittedPages, PreflightsPassWithoutCredentials) {
  FakeExchange& flight = site.send(page(plain("OPTIONS", "/mcp"))
                                       .with("Access-Control-Request-Method", "POST")
                                       .with("Access-Control-Request-Headers", "authorization"));
  EXPECT_EQ(flight.status, 204);
  EXPECT_EQ(flight.field("Access-Control-Allow-Headers"), "authorization");
  EXPECT_EQ(tokens->asked, 0);
}

TEST_F(AdmittedPages, PagesMayReadARefusalAndItsChallenge) {
  FakeExchange& refused = site.send(page(call()));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("Access-Control-Allow-Origin"), "https://app.example");
  std::string exposed;
  for (const auto& [name, value] : refused.fields) {
    if (name == "Access-Control-Expose-Headers") exposed += value + ",";
  }
  EXPECT_TRUE(has(exposed, "WWW-Authenticate")) << exposed;
  FakeExchange& later = site.send(page(as("later", call())));
  tokens->late[0].refuse(Tokens::refusal());
  site.process();
  EXPECT_EQ(later.field("Access-Control-Allow-Origin"), "https://app.example");
}

TEST(AdmittedBlocking, AThreadWaitsForTheDecision) {
  std::thread decides;
  Server server(test::server_options());
  server.tool("who", "", [](Context& cx) { return who(cx); });
  BlockingEndpoint endpoint(
      server,
      {.admission = http::make_admission([&](const http::Request&, http::Decision& decision) {
         decides =
             std::thread([late = decision.later()]() mutable { late.admit(Tokens::known("ada")); });
       })});
  FakeRequest request = Site::modern_tool("7", "who");
  const http::Response response = endpoint.handle(request.get());
  decides.join();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(has(response.body, "ada")) << response.body;
  EXPECT_EQ(response.fields.find("DPoP-Nonce"), "n");
}

// A status and fields that the answer itself wants.

struct Statuses : testing::Test {
  Statuses() {
    site.server.tool("scope", "", []() -> Result<std::string> { return insufficient(); });
    site.server.tool("late", "", parked.handler());
    site.server.tool("told", "", [](Context& cx) -> Result<std::string> {
      cx.progress(1, 2);
      return insufficient();
    });
    site.server.tool("odd", "", []() -> Result<std::string> {
      Error error = rpc::internal_error("odd");
      error.http = std::make_shared<HttpError>(HttpError{
          .status = 200,
          .fields = {{"Content-Length", "5"}, {"a b", "c"}, {"X", "a\r\nB: c"}, {"Y", "y"}}});
      return error;
    });
  }
  static Error insufficient() {
    Error error{.code = -32001, .message = "more scope is needed"};
    error.http = std::make_shared<HttpError>(
        HttpError{.status = 403, .fields = {{"WWW-Authenticate", std::string(challenge)}}});
    return error;
  }
  static void expect_403(const FakeExchange& exchange) {
    EXPECT_EQ(exchange.status, 403);
    EXPECT_EQ(exchange.field("WWW-Authenticate"), challenge);
    EXPECT_EQ(exchange.answer()["error"]["code"].dump(), "-32001");
  }
  Parked parked;
  Site site;
};

TEST_F(Statuses, OfAnErrorInBothEras) {
  expect_403(site.send(Site::modern_tool("7", "scope")));
  const std::string session = site.connect();
  expect_403(site.send(Site::in(session, Site::tool_body("7", "scope"))));
}

TEST_F(Statuses, OfAnErrorThatComesLater) {
  FakeExchange& modern = site.send(Site::modern_tool("7", "late"));
  const std::string session = site.connect("2025-06-18");
  FakeExchange& legacy = site.send(Site::in(session, Site::tool_body("7", "late")));
  for (auto& reply : parked.replies) reply(insufficient());
  site.process();
  expect_403(modern);
  expect_403(legacy);
}

TEST_F(Statuses, AreTooLateOnceSomethingWasSent) {
  FakeExchange& stream =
      site.send(Site::modern_tool("7", "told", "{}", R"(,"_meta":{"progressToken":1})"));
  EXPECT_EQ(stream.status, 200);
  EXPECT_TRUE(stream.ended());
  EXPECT_TRUE(has(stream.body, "-32001")) << stream.body;
}

TEST_F(Statuses, ThatMakeNoSenseAreLeftOut) {
  FakeExchange& odd = site.send(Site::modern_tool("7", "odd"));
  EXPECT_EQ(odd.status, 200);
  EXPECT_EQ(odd.field("Content-Length"), "");
  EXPECT_EQ(odd.field("X"), "");
  EXPECT_EQ(odd.field("Y"), "y");
}

TEST_F(Statuses, MiddlewareMayRefuseWithOne) {
  site.server.use({.before = [](auto&) -> Result<void> { return insufficient(); }});
  expect_403(site.send(Site::modern_tool("7", "late")));
}

}  // namespace
}  // namespace godwit::inline v0
