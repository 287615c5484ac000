// Frame: one run of a handler: what the Work and the Context of that run do. It stands on the stack
// of a plain call, and inside a Late when the call has left the stack.
//
// A run ends in an answer, or suspended: then the client is asked, and the handler runs again in a
// new frame. Which of the two it is, the pending list of the Asks decides, not what was returned.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "asks.hpp"
#include "catalog.hpp"
#include "godwit/rpc/handler.hpp"
#include "godwit/server/work.hpp"
#include "mcp/era/dialect.hpp"
#include "mcp/era/stateless.hpp"
#include "provider.hpp"
#include "session.hpp"

namespace godwit::inline v0::detail::server {

/// A request after admission: in which dialect it is served, and where its parts are.
struct Request {
  const mcp::Dialect* dialect = nullptr;
  std::string_view method{};
  json::View params{};
  json::View meta{};
  json::View arguments{};
  std::string_view uri{};  // of a resource
  mcp::RequestFacts facts{};
  const CacheHint* cache = nullptr;  // of a resource
  const std::optional<std::string>* mime_type = nullptr;

  /// Did the client say that it knows this extension?
  bool declares(const Session& session, const std::string& extension) const;
};

class Late;

class Frame final : public Work, public Exchange {
 public:
  /// On the stack.
  Frame(Session& session, rpc::detail::Call& call, const Request& request,
        const std::shared_ptr<const Entry>& entry)
      : session_(session), call_(&call), request_(request), entry_(entry), context_(*this) {}
  /// Inside a Late, which outlives it.
  Frame(Session& session, Late& late, const Request& request,
        const std::shared_ptr<const Entry>& entry)
      : session_(session), late_(&late), request_(request), entry_(entry), context_(*this) {}
  ~Frame() override { release(); }

  /// Runs the handler, if there is room for one more. A replay has been let in before.
  void run(bool replay = false);
  void set_asks(std::unique_ptr<Asks> asks) { asks_ = std::move(asks); }
  std::unique_ptr<Asks> take_asks() { return std::move(asks_); }
  /// Asks again for answers that did not fit, before the handler runs. False if there is nothing to
  /// ask.
  bool asks_again();
  /// The entries of a list that come before those of providers.
  void set_listed(std::string entries) { listed_ = std::move(entries); }

  // Work
  json::View arguments() const override { return request_.arguments; }
  std::string_view uri() const override { return request_.uri; }
  Context& context() override { return context_; }
  std::string& scratch() override { return late_ ? scratch_ : session_.scratch; }
  void text(std::string_view text) override;
  void structured(std::string_view json) override;
  void contents(const std::vector<Content>& contents) override;
  void result(const ToolResult& result) override;
  void prompt(const PromptResult& result) override;
  void read(const ReadResult& result) override;
  void blob(std::string_view bytes) override;
  void page(const ListPage& page) override;
  void ask(const InputRequired& questions) override;
  void fail(Error error) override;
  void bad_arguments(const json::DecodeFailure& failure) override;
  void threw(std::exception_ptr exception) noexcept override;
  std::shared_ptr<LateWork> defer() override;
  Executor& executor() override { return *session_.server().options.executor; }

  // Exchange
  void progress(double progress, std::optional<double> total, std::string_view message) override;
  bool wants_log(LoggingLevel level) override;
  void log(LoggingLevel level, std::string_view json, std::string_view logger) override;
  void close_stream() override;
  std::stop_token cancelled() const override;
  const Caller& caller() override;
  std::string_view revision() const override { return request_.dialect->revision; }
  std::string_view method() const override { return request_.method; }
  json::View meta() const override { return request_.meta; }
  std::optional<rpc::Id> request_id() const override;
  const rpc::Facts& facts() const override;
  std::shared_ptr<void> session_state(const std::type_info& type, MakeState make) override;
  Result<std::optional<std::string>> session_value(std::string_view key) override;
  Result<void> set_session_value(std::string_view key, std::string json) override;
  void* user() const override { return session_.user(); }
  Result<std::string_view> ask(std::string_view key, Question question) override;
  Error ask_again(std::string_view key, std::string_view why) override;
  void begin_all() override;
  void end_all(bool failed) override;
  Result<std::optional<std::string>> begin_once(std::string_view key) override;
  void end_once(std::string_view key, std::string result) override;
  void drop_once(std::string_view key) override;
  std::string idempotency_key(std::string_view key) override {
    return asks().chain + ":" + std::string(key);
  }
  std::string_view state() const override {
    return asks_ ? std::string_view(asks_->own_state) : std::string_view();
  }
  const json::Value* answer(std::string_view key) const override;

 private:
  friend class Late;

  const mcp::Dialect& dialect() const noexcept { return *request_.dialect; }
  EntryKind kind() const noexcept { return entry_->kind; }
  Asks& asks() {
    if (!asks_) asks_ = std::make_unique<Asks>(Asks::begin());
    return *asks_;
  }
  bool silent() const noexcept { return asks_ && (asks_->suspended || asks_->replaying()); }

  // Answering: a result is begun, its members are written, and it is ended with what its dialect
  // wants at the end.
  json::Writer& open();
  void close();
  json::Writer& begin();
  json::Writer& begin(std::string_view result_type);
  void end(json::Writer& writer, const json::Object* meta, const CacheHint* cache);
  void refuse(Error error);
  void tool_failed(std::string_view text);
  /// `the handler of the tool "forecast"`, for the log.
  std::string handler_name() const;
  /// Takes the call off the stack, as defer() does.
  std::shared_ptr<Late> leave_stack();
  /// True if the run is suspended; the client is asked then.
  bool suspend();
  void suspend_stateless();
  void send(std::string message);
  Result<WireQuestion> word(std::string_view key, Question question);
  /// May one more round be asked?
  bool may_ask();
  Error asked_in_circles() const;
  Error no_revision_for(std::string_view what) const;
  Error not_offered(std::string_view what, std::string required) const;
  Error clients_fault(std::string text) const;
  /// Does a structured result fit what its tool promised? False after an error was sent. Always
  /// true for what is no tool.
  bool output_fits(std::string_view json);
  /// The result of a custom method.
  void own_object(std::string_view json);
  /// False if the client would not, which has been answered then.
  bool knows_result_type(const std::string& type);

  // Of providers (provided.cpp).

  /// Whether the arguments fit the schema that the provider has for them. False after an answer.
  bool provided_arguments_fit();
  /// This provider does not know the name, or has no more for the list.
  void ask_next();
  std::string_view called_name() const;
  void release() noexcept;

  Session& session_;
  rpc::detail::Call* call_ = nullptr;
  Late* late_ = nullptr;
  Request request_;
  std::shared_ptr<const Entry> entry_;
  Context context_;
  std::unique_ptr<Asks> asks_;
  std::optional<Caller> caller_;
  std::string scratch_;
  std::string listed_;                  // so far, with commas between
  std::string answer_;                  // of a late one
  std::optional<json::Writer> writer_;  // of a late one
  double last_progress_ = std::numeric_limits<double>::lowest();
  bool counted_ = false;
  bool lost_ = false;    // there was no memory for an answer
  bool asking_ = false;  // the answer is a question
};

/// A call that has left the stack: it owns its request and outlives the connection if it must.
class Late final : public LateWork, public std::enable_shared_from_this<Late> {
 public:
  Late(std::shared_ptr<Session> session, std::shared_ptr<rpc::detail::InFlight> request,
       const Request& stack_request, std::shared_ptr<const Entry> entry);
  ~Late() override;

  Work& work() override { return *frame_; }
  Frame& frame() { return *frame_; }
  rpc::detail::InFlight& request() { return *in_flight_; }
  Session& session() { return *session_; }
  /// Of a stateful client, as it was when the call came.
  const Caller& caller() const { return *caller_; }

  /// The request with its params, which the first run inside this was given without.
  const Request& whole_request();
  /// Lets the handler's time run, on the peer's thread.
  void start_timer();
  /// Asks a stateful client what is pending, and runs the handler again with the answers. Any
  /// thread.
  void ask_client();
  /// Runs the next provider's handler. Any thread.
  void ask_next();

 private:
  /// True if nobody can answer any more, and the call has been ended for that.
  bool is_over();
  /// Ends the call beside the handler, whose thread may still be in its frame: neither that nor its
  /// writer is touched. A tool tells the model why, anything else fails with the error.
  void end_beside(const std::string& why, Error otherwise);
  void ask_now();
  void answered(const WireQuestion& question, Result<RawJson> outcome);
  void run_again();
  void stop_timer();

  struct Cancel {
    Late* late;
    void operator()() const noexcept;
  };

  std::shared_ptr<Session> session_;
  std::shared_ptr<rpc::detail::InFlight> in_flight_;
  std::shared_ptr<const Entry> entry_;
  std::string method_;
  std::string uri_;
  // The params as text until they are needed again, because what they are parsed into is many times
  // as large; the variables of a template beside them; and what a handler may ask for at any time.
  std::string params_;
  json::Document document_;
  std::string variables_;
  json::Document variables_document_;
  json::Document meta_document_;
  Request request_;
  std::unique_ptr<Frame> frame_;
  std::unique_ptr<Frame> previous_;
  std::vector<std::unique_ptr<Frame>> asked_;  // of providers that did not know; as above
  std::shared_ptr<const Caller> caller_;

  // Of a stateful client that is being asked.
  std::vector<rpc::CallHandle> waiting_;
  std::size_t outstanding_ = 0;
  std::optional<std::stop_callback<Cancel>> on_cancel_;
  std::optional<rpc::TimerHandle> timer_;
  TimePoint timer_started_{};
  Duration time_used_{};
};

/// Takes what the answer needs to know from the entry of a provider.
void aim(Request& request, const Entry& entry);

/// The client offers or sends what cannot be used: a tool tells the model, anything else is
/// refused.
Error clients_fault(EntryKind kind, std::string text);
/// What is said when an answer does not fit, and when it does not however often it is asked for.
std::string misfit_text(std::string_view key, std::string_view why);
std::string misfit_text(std::string_view key, std::string_view why, unsigned rounds);

/// What the sealed state of a request belongs to: another method, caller, handler or other
/// arguments cannot use it.
std::string state_context(const rpc::Facts& facts, const Request& request, const Entry& entry);

/// The error as it travels in this dialect: codes of this process become those of the wire.
Error wire_error(Error error, const mcp::Dialect& dialect);

}  // namespace godwit::inline v0::detail::server
