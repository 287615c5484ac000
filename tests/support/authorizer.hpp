// An authorizer that does what a test says, and writes down what it was asked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "godwit/http/request_authorizer.hpp"

namespace godwit::test {

/// Gives the token, as a bearer, and lets a refused request be sent again as long as there are new
/// tokens.
struct TestAuthorizer : http::RequestAuthorizer {
  struct Seen {
    std::string method{};
    std::string url{};
    std::string sent{};  // the Authorization field
    std::size_t attempt = 0;
    int status = 0;
    http::Fields fields{};
    std::string body{};
    std::stop_token stop{};
  };

  static Seen note(const http::AuthorizerRequest& request) {
    return {.method = std::string(request.method),
            .url = request.url.text(),
            .sent = std::string(request.sent.find("Authorization").value_or("")),
            .attempt = request.attempt,
            .stop = request.stop};
  }

  void authorize(const http::AuthorizerRequest& request,
                 http::AuthorizerReply<http::Fields> reply) override {
    asked.push_back(note(request));
    if (on_authorize) return on_authorize(request, std::move(reply));
    reply(fields());
  }
  void on_response(const http::AuthorizerRequest& request, int status,
                   http::FieldsView view) override {
    Seen seen = note(request);
    seen.status = status;
    for (const http::Field& field : view) seen.fields.add(field.name, field.value);
    responses.push_back(std::move(seen));
    if (on_head) on_head(status);
  }
  void on_refused(const http::AuthorizerRequest& request, const http::AuthorizerRefusal& refusal,
                  http::AuthorizerReply<http::AfterRefusal> reply) override {
    Seen seen = note(request);
    seen.status = refusal.status;
    seen.fields = refusal.fields;
    seen.body = refusal.body;
    refusals.push_back(std::move(seen));
    if (on_refusal) return on_refusal(std::move(reply));
    token = next_token;
    reply(http::AfterRefusal::send_again);
  }

  http::Fields fields() const {
    http::Fields out;
    if (!token.empty()) out.add("Authorization", "Bearer " + token);
    return out;
  }
  /// Answers later, when the test says so.
  void keep_refusals() {
    on_refusal = [this](http::AuthorizerReply<http::AfterRefusal> reply) {
      waiting.push_back(std::move(reply));
    };
  }

  std::string token = "old";
  std::string next_token = "new";
  std::vector<Seen> asked, responses, refusals;
  std::function<void(const http::AuthorizerRequest&, http::AuthorizerReply<http::Fields>)>
      on_authorize;
  std::function<void(int status)> on_head;
  std::function<void(http::AuthorizerReply<http::AfterRefusal>)> on_refusal;
  std::vector<http::AuthorizerReply<http::AfterRefusal>> waiting;
};

}  // namespace godwit::test
