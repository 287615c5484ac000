// A server that wants to know who calls, with a page beside it on the same port. The tokens are a
// table here, looked up on another thread as a database would be.
#include <godwit/godwit.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace {

using godwit::http::Decision;
using godwit::http::LateDecision;
using godwit::http::Request;

struct Nothing {};

/// Who has which token.
const std::map<std::string, std::string, std::less<>> tokens = {{"Bearer 1234", "ada"}};

/// Lets in those whose token is known.
void look_up(const std::string& token, LateDecision decision) {
  const auto found = tokens.find(token);
  if (found == tokens.end()) {
    return decision.refuse({.status = 401,
                            .fields = {{"WWW-Authenticate", R"(Bearer error="invalid_token")"}},
                            .body = {}});
  }
  decision.admit({.identity = std::make_shared<godwit::rpc::Identity>(
                      godwit::rpc::Identity{.issuer = "the table", .subject = found->second}),
                  .fields = {}});
}

struct StatusPage final : godwit::http::Handler {
  void on_request(const Request&, godwit::http::Exchange& exchange) override {
    exchange.respond(200, "text/plain", "all is well\n");
  }
};

}  // namespace

int main() {
  godwit::Server server{
      {.name = "callers", .version = "1.0.0", .sealer = std::make_shared<godwit::AesSealer>()}};
  server.tool("who", "Says who calls",
              [](godwit::Context& cx) { return "you are " + cx.identity()->subject; });

  godwit::ThreadPool pool(1);
  godwit::WebServerOptions options;
  options.endpoint.admission =
      godwit::http::make_admission([&](const Request& head, Decision& decision) {
        const auto token = head.fields.find("Authorization");
        if (!token)
          return decision.refuse({.status = 401, .fields = {{"WWW-Authenticate", "Bearer"}}});
        // Nothing is read of the request before the decision.
        pool.execute([token = std::string(*token), late = decision.later()]() mutable {
          look_up(token, std::move(late));
        });
      });
  options.routes = {{.path = "/status", .handler = std::make_shared<StatusPage>()}};

  godwit::Loop loop;
  auto web = godwit::WebServer::listen(loop, server, {"127.0.0.1", 0}, std::move(options));
  if (!web) {
    std::cerr << web.error().message << "\n";
    return 1;
  }
  // Somebody calls. A program that only serves ends with loop.run().
  bool good = false;
  std::thread client([&] {
    const auto nobody = godwit::Client::connect(web->url());
    std::cout << (nobody ? "nobody was let in\n" : nobody.error().message + "\n");
    auto ada = godwit::Client::connect(web->url(), {.headers = {{"Authorization", "Bearer 1234"}}});
    const auto said = ada ? ada->call<std::string>("who", Nothing{}) : ada.error();
    std::cout << (said ? *said : said.error().message) << "\n";
    good = !nobody && said && *said == "you are ada";
    loop.stop();
  });
  loop.run();
  client.join();
  return good ? 0 : 1;
}
