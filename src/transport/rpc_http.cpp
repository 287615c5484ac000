#include "godwit/transport/rpc_http.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <utility>
#include <vector>

#include "godwit/base/lifetime.hpp"
#include "godwit/http/response.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/message.hpp"

namespace godwit::inline v0 {

namespace {

/// Calls `visit` for each message of a text that is one or a batch.
template <class Visit>
void each_message(json::View text, Visit visit) {
  if (!text.is_array()) return visit(text);
  for (const json::View entry : text.items()) visit(entry);
}

/// The ids of the requests in a text that is one message or a batch.
std::vector<rpc::Id> requests_in(std::string_view text) {
  std::vector<rpc::Id> ids;
  json::Document document;
  const auto parsed = document.parse(text, {.depth = 100'000, .number_chars = 0});
  if (!parsed) return ids;
  each_message(*parsed, [&](json::View one) {
    if (!one.find("method") || !one.find("id")) return;
    if (auto id = rpc::Id::from(one.find("id"))) ids.push_back(*std::move(id));
  });
  return ids;
}

class RpcHttp final : public rpc::Transport {
 public:
  RpcHttp(Loop& loop, const http::Url& url, const RpcHttpClientOptions& options)
      : loop_(loop),
        url_(url),
        options_(options),
        client_(loop, options.client),
        patience_(loop),
        settled_(loop, [this] { after_settling(); }) {
    if (url_.scheme == "ws") url_.scheme = "http";
    if (url_.scheme == "wss") url_.scheme = "https";
    if (!options_.fields.find("Accept")) options_.fields.add("Accept", "application/json");
    options_.fields.set("Accept-Encoding", "identity");
    options_.fields.set("Content-Type", "application/json");
  }

  void start(rpc::Receiver& receiver) override { receiver_ = &receiver; }
  std::string& output() override { return out_; }
  void flush() override {}
  bool has_fields() const noexcept override { return true; }
  void finish(const rpc::Outbound& message) override {
    Post post{.body = message.begin == 0 ? std::exchange(out_, {}) : out_.substr(message.begin),
              .ids = {},
              .fields = message.fields ? *message.fields : rpc::MessageFields{}};
    out_.resize(message.begin);
    if (closing_) return;
    if (message.kind == rpc::Outbound::Kind::unknown) {
      post.ids = requests_in(post.body);
    } else if (message.kind != rpc::Outbound::Kind::cancellation) {
      post.ids.assign(message.ids.begin(), message.ids.end());
    }
    waiting_.push_back(std::move(post));
    send_more();
  }
  void when_flushed(Function<void()> done) override {
    when_flushed_ = std::move(done);
    settle();
  }
  void close() override {
    if (std::exchange(closing_, true)) return;
    // What was said is still heard, but nobody waits for answers.
    patience_.start(options_.limits.eof_grace, [this] {
      waiting_.clear();
      calls_.clear();
      settle();
    });
    settle();
  }

 private:
  struct Post {
    std::string body;
    std::vector<rpc::Id> ids;  // of the requests in it
    rpc::MessageFields fields;
  };
  /// One that is under way.
  struct Call {
    explicit Call(Loop& loop) : timer(loop) {}
    http::FetchHandle fetch;
    Timer timer;
    std::vector<rpc::Id> ids;  // of the requests in it
    std::string body;
    int status = 0;
    std::string coding;    // of the body, which cannot be read then
    std::string location;  // of a redirect
  };
  using Place = std::list<Call>::iterator;

  void send_more() {
    while (!waiting_.empty() && calls_.size() < std::max<std::size_t>(options_.requests, 1)) {
      Post post = std::move(waiting_.front());
      waiting_.pop_front();
      http::Fields fields = options_.fields;
      for (const auto& [name, value] : post.fields) {
        if (http::is_token(name) && http::is_field_value(value)) fields.set(name, value);
      }
      const Place call = calls_.emplace(calls_.end(), loop_);
      call->ids = std::move(post.ids);
      call->timer.start(options_.answer_time,
                        [this, call] { ended(call, error("the server did not answer in time")); });
      call->fetch = client_.fetch(
          {.method = "POST",
           .url = url_,
           .fields = std::move(fields),
           .body = std::move(post.body),
           .repeatable = {},
           .follow_redirects = true},
          {.on_head = [call](int status, http::FieldsView head) { take_head(*call, status, head); },
           .on_body = [this, call](std::string_view piece) { gather(call, piece); },
           .on_end = [this, call](Result<void> how) { ended(call, std::move(how)); }});
    }
  }

  static void take_head(Call& call, int status, const http::FieldsView& fields) {
    constexpr std::size_t most_shown = 100;
    const std::string_view coding = fields.find("Content-Encoding").value_or("");
    call.status = status;
    if (!http::same_name(coding, "identity")) call.coding = coding.substr(0, most_shown);
    if (status / 100 == 3) call.location = fields.find("Location").value_or("");
  }

  void gather(Place call, std::string_view piece) {
    if (piece.size() > options_.limits.message_bytes_in - call->body.size()) {
      return ended(call, error("the answer is larger than " +
                               std::to_string(options_.limits.message_bytes_in) + " bytes"));
    }
    call->body += piece;
  }

  void ended(Place at, Result<void> how) {
    std::list<Call> mine;
    mine.splice(mine.end(), calls_, at);
    Call& call = mine.front();
    call.timer.cancel();
    if (!closing_) {
      const Lifetime::Watch watch(lifetime_);
      deliver(call, how);
      if (watch.expired()) return;
    }
    send_more();
    settle();
  }

  void deliver(Call& call, const Result<void>& how) {
    if (!how) {
      Error why = rpc::connection_closed(how.error().message);
      if (is_not_executed(how.error())) why.cause = Cause::not_connected;
      return fail(call.ids, why);
    }
    const auto failure = [](std::string message) {
      return Error{.message = std::move(message), .cause = Cause::carrier};
    };
    std::string status =
        "HTTP " + std::to_string(call.status) + " " + std::string(http::reason_of(call.status));
    if (!call.location.empty()) {
      status += " (a redirect to " + url_.describe(call.location) + ", which is not followed)";
    }
    if (!call.coding.empty()) {
      return fail(call.ids, failure("the server answered " + status +
                                    ", compressed (Content-Encoding: " + call.coding +
                                    "), which was not asked for and cannot be read"));
    }
    const std::size_t size = call.body.size();
    call.body.append(json::Document::padding, '\0');
    const std::string_view text = std::string_view(call.body).substr(0, size);
    // On the stack, because the receiver may destroy this.
    json::Document document = std::move(document_);
    const auto parsed =
        document.parse(text, json::ParseOptions::from(options_.limits), json::Document::padding);
    if (size == 0 || !parsed || !(parsed->is_object() || parsed->is_array())) {
      if (call.ids.empty() && call.status / 100 == 2) return;
      return fail(call.ids, failure(size == 0 || call.status / 100 != 2
                                        ? "the server answered " + status + " and no result"
                                        : "the server's answer is no JSON-RPC message"));
    }
    // Whatever is not answered by its id is answered all the same.
    std::optional<Error> nobodys;
    bool any = false;
    each_message(*parsed, [&](json::View one) {
      if (rpc::role_of(one) != rpc::Role::answer) return;
      const auto id = rpc::Id::from(one.find("id"));
      const auto found = id ? std::ranges::find(call.ids, *id) : call.ids.end();
      if (found != call.ids.end()) {
        call.ids.erase(found);
        any = true;
      } else if (const json::View wrong = one.find("error")) {
        nobodys = Error{.code = wrong.find("code").as_int64().value_or(rpc::code::internal_error),
                        .message = std::string(wrong.find("message").as_string().value_or(status)),
                        .data = std::string(wrong.find("data") ? wrong.find("data").source() : ""),
                        .cause = Cause::peer};
      }
    });
    if (!nobodys) nobodys = failure("the server answered " + status + " but not this call");
    const Lifetime::Watch watch(lifetime_);
    if (any) receiver_->on_parsed(*parsed);
    if (watch.expired()) return;
    document_ = std::move(document);
    fail(call.ids, *nobodys);
  }

  /// Answers in place of the server.
  void fail(const std::vector<rpc::Id>& ids, const Error& why) {
    if (ids.empty()) {
      options_.log.warning("a message over HTTP may not have arrived: " + why.message);
      return;
    }
    const Lifetime::Watch watch(lifetime_);
    for (const rpc::Id& id : ids) {
      receiver_->on_failure(id, why);
      if (watch.expired() || closing_) return;
    }
  }

  void settle() noexcept {
    if (!calls_.empty() || !waiting_.empty() || !(when_flushed_ || closing_)) return;
    patience_.cancel();
    settled_.signal();
  }
  void after_settling() {
    if (!calls_.empty() || !waiting_.empty()) return;
    const Lifetime::Watch watch(lifetime_);
    if (auto flushed = std::exchange(when_flushed_, nullptr)) flushed();
    if (watch.expired()) return;
    if (!closing_ || std::exchange(told_, true) || !receiver_) return;
    receiver_->on_close(error("the connection was closed here"));
  }

  Loop& loop_;
  http::Url url_;
  RpcHttpClientOptions options_;
  http::HttpClient client_;
  json::Document document_;
  Timer patience_;
  rpc::Receiver* receiver_ = nullptr;
  std::string out_;
  std::deque<Post> waiting_;
  std::list<Call> calls_;
  Function<void()> when_flushed_;
  bool closing_ = false;
  bool told_ = false;
  Wakeup settled_;
  Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<rpc::Transport> connect_http(Loop& loop, const http::Url& url,
                                             const RpcHttpClientOptions& options) {
  return std::make_unique<RpcHttp>(loop, url, options);
}

}  // namespace godwit::inline v0
