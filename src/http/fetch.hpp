// Fetch: one request of an HttpClient: a connection, perhaps another one, and an outcome.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "godwit/http/http_client.hpp"
#include "godwit/io/timer.hpp"
#include "http/authorizer_question.hpp"
#include "http/dial.hpp"
#include "http/link.hpp"
#include "http/run_step.hpp"

namespace godwit::inline v0::http {

/// Shared because the callbacks are members of it, and one that is running may let go of the
/// handle.
struct FetchHandle::Fetch final : Link::User, std::enable_shared_from_this<Fetch> {
  Fetch(std::shared_ptr<HttpClient::State> client_, HttpRequest request_, HttpCallbacks callbacks_);
  ~Fetch() { drop(); }

  bool is_over() const noexcept { return done; }
  void begin();
  void begin_whole(FetchBounds bounds, Function<void(Result<Response>)> take);
  void start();
  /// The fields of the authorizer are there, or there is none.
  void transmit();
  void connect();
  void on_connected(Result<Stream> stream);
  std::string_view request_text() const noexcept override { return wire; }
  void on_head(int status, FieldsView fields) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_broken(Error why) override;
  /// Where to go instead, if the program wants that and it is allowed.
  std::optional<Url> redirect(int status, const FieldsView& fields) const;
  void follow();
  /// Sends it once more from the beginning.
  void repeat();
  void deliver_head(int status, FieldsView fields);
  void deliver_body(std::string_view piece);
  void finish(Result<void> how);
  /// Ends it before the response has ended.
  void fail(Error why);
  void drop() noexcept;
  /// Of the request.
  std::string_view body() const noexcept;

  // With an authorizer (fetch_authorized.cpp).

  void ask_fields();
  void take_fields(Result<Fields> given);
  /// Shows it the head of a response; whether the response is kept until it is asked about it.
  bool is_for_authorizer(int status, const FieldsView& fields);
  void take_refusal(std::string_view piece);
  /// Asks it what becomes of the request.
  void decide();
  void take_decision(Result<AfterRefusal> decision);
  AuthorizerRequest described(std::stop_token stop = {}) const;

  /// A 401 or 403, until the authorizer has decided.
  struct Refusal {
    int status = 0;
    Fields fields{};
    std::string body{};
  };
  struct Authorization {
    explicit Authorization(Fetch& fetch);
    AuthorizerQuestion<Fields> fields;
    AuthorizerQuestion<AfterRefusal> decision;
    Fields given{};
    std::optional<Refusal> refusal{};
    std::size_t attempt = 0;
  };
  /// A response that is gathered whole.
  struct Whole {
    Response response{};
    FetchBounds bounds{};
    Timer timer;
    TimePoint end{};  // of the time for it
    Duration left{};  // of that, while an authorizer decides
    Function<void(Result<Response>)> take{};
  };
  void hold_whole(bool held);

  std::shared_ptr<HttpClient::State> client;
  HttpRequest request;
  HttpCallbacks callbacks;
  bool repeatable;
  std::optional<Proxy> proxy;
  std::string origin;
  std::string wire;
  std::size_t body_size = 0;  // at the end of it
  std::optional<Url> next;    // the answer is a redirect that is followed
  std::size_t redirects = 0;
  std::size_t skipped = 0;
  std::optional<Dial> dial;
  std::shared_ptr<Link> link;
  std::unique_ptr<Authorization> authorization;
  std::unique_ptr<Whole> whole;
  bool reused = false;
  bool anew = false;  // on a new connection, because one that was kept turned out to be closed
  bool done = false;
};

}  // namespace godwit::inline v0::http
