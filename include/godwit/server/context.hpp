// Context: what a handler may know of its caller and do beside answering. The same in both eras and
// for plain, blocking and asynchronous handlers. Lives as long as the handler runs; an asynchronous
// handler gets it again from its Reply.
//
// Asking (elicit, sample, roots, …) replays the handler: an ask that is not answered yet gives an
// error that the handler passes on; the client is asked, and the handler runs again from the start
// with the answers so far. So a handler must come to the same asks again, and what must not happen
// twice goes into once(). Each ask has a key of its own within the handler.
//
// Threads: the one that runs the handler.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/elicitation.hpp"
#include "godwit/mcp/error.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/notification.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/trace.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/handler.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/server/form.hpp"

namespace godwit::inline v0 {

/// Who calls, in its own words.
struct Caller {
  Implementation info{};
  ClientCapabilities capabilities{};
  bool operator==(const Caller&) const = default;
};

namespace detail::server {

/// One question to the client.
struct Question {
  enum class Kind : std::uint8_t { form, url, sample, roots };
  Kind kind = Kind::form;
  ElicitRequest elicit{};
  SamplingRequest sample{};
  /// The asker reads any form: the engine holds the answer against the schema.
  bool check_answer = false;
};

/// What the engine does for a Context.
class GODWIT_API Exchange {
 public:
  virtual ~Exchange();
  virtual void progress(double progress, std::optional<double> total, std::string_view message) = 0;
  virtual bool wants_log(LoggingLevel level) = 0;
  virtual void log(LoggingLevel level, std::string_view json, std::string_view logger) = 0;
  virtual void close_stream() = 0;
  virtual std::stop_token cancelled() const = 0;
  virtual const Caller& caller() = 0;
  virtual std::string_view revision() const = 0;
  virtual std::string_view method() const = 0;
  virtual json::View meta() const = 0;
  virtual std::optional<rpc::Id> request_id() const = 0;
  virtual const rpc::Facts& facts() const = 0;
  /// What was made for this type before, or `make` makes now; null where there is no session.
  using MakeState = std::shared_ptr<void> (*)();
  virtual std::shared_ptr<void> session_state(const std::type_info& type, MakeState make) = 0;
  /// What the session keeps under this key, as JSON. Errors where there is no session.
  virtual Result<std::optional<std::string>> session_value(std::string_view key) = 0;
  virtual Result<void> set_session_value(std::string_view key, std::string json) = 0;
  virtual void* user() const = 0;

  /// The answer as JSON, good until the next ask, or an error that is to be passed on.
  virtual Result<std::string_view> ask(std::string_view key, Question question) = 0;
  /// The answer was not what was asked for: asks again. The error is to be passed on.
  virtual Error ask_again(std::string_view key, std::string_view why) = 0;
  /// Between these two, asks are put all at once.
  virtual void begin_all() = 0;
  /// `failed`: one of them cannot be asked, so none is to be.
  virtual void end_all(bool failed) = 0;

  /// The kept result, nothing if the effect is to be done now, or an error to pass on.
  virtual Result<std::optional<std::string>> begin_once(std::string_view key) = 0;
  /// The effect was done. Nothing if that is kept; what it gave elsewhere, if somebody else has
  /// done it meanwhile; or an error to pass on.
  virtual Result<std::optional<std::string>> end_once(std::string_view key, std::string result) = 0;
  /// It failed, and may be tried again.
  virtual void drop_once(std::string_view key) noexcept = 0;
  virtual std::string idempotency_key(std::string_view key) = 0;

  virtual std::string_view state() const = 0;
  virtual const json::Value* answer(std::string_view key) const = 0;
};

/// What a person did with a form, and what is filled in, if anything is.
struct FilledForm {
  ElicitAction action{};
  json::View content{};
};
/// Reads it in the document, which must outlive it.
GODWIT_API Result<FilledForm> read_filled_form(json::Document& document, std::string_view answer);

template <class T>
Result<Answer<T>> read_form(Exchange& exchange, std::string_view key, std::string_view answer) {
  json::Document document;
  const Result<FilledForm> form = read_filled_form(document, answer);
  if (!form) return exchange.ask_again(key, form.error().message);
  if (form->action != ElicitAction::accept) return Answer<T>(form->action);
  Result<T> content = json::decode<T>(form->content);
  if (!content) return exchange.ask_again(key, content.error().message);
  return Answer<T>(*std::move(content));
}

}  // namespace detail::server

/// Something to ask; Context::ask and ask_all take several kinds.
template <class T>
struct FormAsk {
  using Out = Answer<T>;
  std::string key{};
  std::string message{};
  /// Made from T if empty.
  RawJson schema{};
};
struct UrlAsk {
  using Out = ElicitAction;
  std::string key{};
  std::string message{};
  std::string url{};
};
struct SampleAsk {
  using Out = SamplingResult;
  std::string key{};
  SamplingRequest request{};
};
struct RootsAsk {
  using Out = std::vector<Root>;
  std::string key{};
};

template <class T>
FormAsk<T> ask_form(std::string key, std::string message) {
  return {.key = std::move(key), .message = std::move(message)};
}
inline UrlAsk ask_url(std::string key, std::string message, std::string url) {
  return {.key = std::move(key), .message = std::move(message), .url = std::move(url)};
}
inline SampleAsk ask_sample(std::string key, SamplingRequest request) {
  return {.key = std::move(key), .request = std::move(request)};
}
inline RootsAsk ask_roots(std::string key) { return {.key = std::move(key)}; }

class GODWIT_API Context {
 public:
  explicit Context(detail::server::Exchange& exchange) noexcept : exchange_(&exchange) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Telling.

  /// How far it is. Sent at once if the caller wants to know; must not fall. As everything that a
  /// handler on another thread tells, it may wait for the connection's thread while much is on the
  /// way there (Limits::output_queue_bytes).
  void progress(double progress, std::optional<double> total = {}, std::string_view message = {}) {
    exchange_->progress(progress, total, message);
  }
  /// A line for the client's log, if it wants lines of this level. `data` is anything with a JSON
  /// form.
  template <class T>
  void log(LoggingLevel level, const T& data, std::string_view logger = {}) {
    if (exchange_->wants_log(level)) exchange_->log(level, json::encode(data), logger);
  }

  /// Over HTTP, for a client that can come back to a stream: ends the connection that waits for
  /// this request, so that it costs nothing while the handler works on. The client returns for the
  /// rest. Elsewhere, and in handlers that answer at once, it does nothing.
  void close_stream() { exchange_->close_stream(); }

  // Knowing.

  /// Stops when the caller takes the request back, its time is up, or the connection ends.
  std::stop_token cancelled() const { return exchange_->cancelled(); }
  const Implementation& client() { return exchange_->caller().info; }
  const ClientCapabilities& client_capabilities() { return exchange_->caller().capabilities; }
  /// The revision of the protocol that this request is served in.
  std::string_view revision() const { return exchange_->revision(); }
  std::string_view method() const { return exchange_->method(); }
  /// The request's _meta; absent if it has none.
  json::View meta() const { return exchange_->meta(); }
  TraceContext trace() const;
  /// Nothing if it is a notification.
  std::optional<rpc::Id> request_id() const { return exchange_->request_id(); }
  /// Who sent the request, and by which way it came. In a handler that answers later, too.
  const rpc::Facts& facts() const { return exchange_->facts(); }
  /// Who calls; nullptr if nobody has verified that.
  const rpc::Identity* identity() const { return facts().identity.get(); }
  /// A header field of the HTTP request; nothing if there is none, or two, or it carries a secret
  /// (Authorization and the like), or it is not HTTP.
  std::optional<std::string_view> header(std::string_view name) const {
    return facts().fields.find(name);
  }
  /// The other end of the connection: "127.0.0.1:4711"; empty where there is none.
  std::string_view peer() const { return facts().peer; }
  /// Something of the program's that lives as long as the session: one T for each session, made
  /// when it is asked for first. Null in the era without sessions. Handlers on several threads
  /// share it.
  template <class T>
  std::shared_ptr<T> session_state() {
    return std::static_pointer_cast<T>(exchange_->session_state(
        typeid(T), +[]() -> std::shared_ptr<void> { return std::make_shared<T>(); }));
  }
  /// What the program keeps in the session under this key, or a T as it is made if there is nothing
  /// yet. Unlike session_state() it is a value with a JSON form, and goes on with the session at
  /// another server (EndpointOptions::sessions). An error in the era without sessions, or if what
  /// is kept is no T.
  template <class T>
  Result<T> session_value(std::string_view key) {
    const Result<std::optional<std::string>> kept = exchange_->session_value(key);
    if (!kept) return kept.error();
    return *kept ? json::decode<T>(**kept) : Result<T>(T{});
  }
  /// Keeps it, in place of what was there. What the handler says after this is not told before it
  /// is saved, where sessions are. All values of a session together have Limits::session_bytes.
  template <class T>
  Result<void> set_session_value(std::string_view key, const T& value) {
    return exchange_->set_session_value(key, json::encode(value));
  }
  /// What the program attached to the connection.
  template <class T>
  T* user() const {
    return static_cast<T*>(exchange_->user());
  }

  // Asking.

  /// Asks the person at the client to fill in T, a flat struct. Declined and cancelled are values.
  template <class T>
  Result<Answer<T>> elicit(std::string_view key, std::string message) {
    return ask(ask_form<T>(std::string(key), std::move(message)));
  }
  /// The same with a schema of your own, which the answer fits then.
  Result<Answer<json::Object>> elicit(std::string_view key, std::string message, RawJson schema) {
    return ask(FormAsk<json::Object>{
        .key = std::string(key), .message = std::move(message), .schema = std::move(schema)});
  }
  /// Asks the person to open a url. Accepting is consent, not completion.
  Result<ElicitAction> elicit_url(std::string_view key, std::string message, std::string url) {
    return ask(ask_url(std::string(key), std::move(message), std::move(url)));
  }
  /// Asks the client's model.
  Result<SamplingResult> sample(std::string_view key, SamplingRequest request) {
    return ask(ask_sample(std::string(key), std::move(request)));
  }
  /// Asks where the server may work.
  Result<std::vector<Root>> roots(std::string_view key) { return ask(ask_roots(std::string(key))); }
  /// Asks several things at once.
  template <class... Asks>
  Result<std::tuple<typename Asks::Out...>> ask_all(Asks... asks) {
    exchange_->begin_all();
    std::tuple<Result<typename Asks::Out>...> answers{ask(std::move(asks))...};
    const Error* error = nullptr;
    std::apply(
        [&](const auto&... answer) {
          // A failure tells more than "not answered yet".
          const auto look = [&](const auto& one) {
            if (!one && (!error || is_suspended(*error))) error = &one.error();
          };
          (look(answer), ...);
        },
        answers);
    exchange_->end_all(error && !is_suspended(*error));
    if (error) return *error;
    return std::apply(
        [](auto&&... answer) { return std::tuple<typename Asks::Out...>(*std::move(answer)...); },
        std::move(answers));
  }

  template <class T>
  Result<Answer<T>> ask(FormAsk<T> form) {
    detail::server::Question question{.kind = detail::server::Question::Kind::form};
    question.elicit.message = std::move(form.message);
    if constexpr (std::is_same_v<T, json::Object>) {
      question.elicit.requestedSchema = std::move(form.schema);
      question.check_answer = true;
    } else {
      question.elicit.requestedSchema =
          form.schema.text.empty() ? form_schema<T>() : std::move(form.schema);
    }
    const Result<std::string_view> answer = exchange_->ask(form.key, std::move(question));
    if (!answer) return answer.error();
    return detail::server::read_form<T>(*exchange_, form.key, *answer);
  }
  Result<ElicitAction> ask(UrlAsk url);
  Result<SamplingResult> ask(SampleAsk sample);
  Result<std::vector<Root>> ask(RootsAsk roots);

  // Doing something once.

  /// Runs the function the first time and gives its kept result to every replay, and to the same
  /// request sent again to this process (or to others that share a Ledger). Its result must have a
  /// JSON form; a Result that failed is not kept.
  ///
  /// A Ledger that takes its time holds nobody up: the error is passed on as that of an ask, and
  /// the handler runs again when the ledger has answered. So what stands before once() may run
  /// again, and nothing is told after the function until its result is kept. If the process dies
  /// while the function runs, or the connection ends and the function takes longer than the lease,
  /// the same request sent again runs it again.
  template <class F>
  auto once(std::string_view key, F&& function) {
    using Given = std::invoke_result_t<F>;
    using Out = typename Unwrapped<Given>::type;
    return once_as<Out>(key, std::forward<F>(function));
  }
  /// The same for every replay of this request, and different for every other: for services that
  /// take such a key to do a thing once.
  std::string idempotency_key(std::string_view key) { return exchange_->idempotency_key(key); }

  // The explicit style: a handler returned InputRequired and is called again.

  /// What it put into InputRequired::state; empty the first time.
  std::string_view state() const { return exchange_->state(); }
  /// The answer to one of its questions, as JSON; nullptr if there is none. It fits its question:
  /// one that does not is asked for again before the handler runs.
  const json::Value* answer(std::string_view key) const { return exchange_->answer(key); }

 private:
  template <class T>
  struct Unwrapped {
    using type = T;
  };
  template <class T>
  struct Unwrapped<Result<T>> {
    using type = T;
  };

  template <class Out, class F>
  Result<Out> once_as(std::string_view key, F&& function) {
    Result<std::optional<std::string>> kept = exchange_->begin_once(key);
    if (!kept) return std::move(kept).error();
    if constexpr (std::is_void_v<Out>) {
      if (*kept) return {};
    } else {
      if (*kept) return json::decode<Out>(**kept);
    }
    struct Drop {  // if the function throws or fails, it may be tried again
      detail::server::Exchange* exchange;
      std::string_view key;
      ~Drop() {
        if (exchange) exchange->drop_once(key);
      }
    } drop{exchange_, key};
    const auto keep = [&](std::string json, Result<Out> outcome) -> Result<Out> {
      drop.exchange = nullptr;
      Result<std::optional<std::string>> elsewhere = exchange_->end_once(key, std::move(json));
      if (!elsewhere) return std::move(elsewhere).error();
      if constexpr (!std::is_void_v<Out>) {
        if (*elsewhere) return json::decode<Out>(**elsewhere);
      }
      return outcome;
    };
    using Given = std::invoke_result_t<F>;
    if constexpr (std::is_void_v<Given>) {
      std::forward<F>(function)();
      return keep("null", {});
    } else {
      Result<Out> outcome = std::forward<F>(function)();
      if (!outcome) return outcome;
      std::string json = "null";
      if constexpr (!std::is_void_v<Out>) json = json::encode(*outcome);
      return keep(std::move(json), std::move(outcome));
    }
  }

  detail::server::Exchange* exchange_;
};

}  // namespace godwit::inline v0
