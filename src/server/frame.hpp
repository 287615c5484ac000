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
#include <thread>

#include "asks.hpp"
#include "catalog.hpp"
#include "godwit/rpc/handler.hpp"
#include "godwit/server/work.hpp"
#include "mcp/era/codec.hpp"
#include "provider.hpp"
#include "runs.hpp"
#include "session.hpp"

namespace godwit::inline v0::detail::server {

/// A request after admission: in which codec it is served, and where its parts are.
struct Request {
  const mcp::Codec* codec = nullptr;
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
  /// Waits for the answers to what another server asked.
  void resume(RestoredRun run);
  std::string saved_asks() const;
  double last_progress() const noexcept { return last_progress_; }
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
  std::string_view revision() const override { return request_.codec->revision(); }
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
  Result<std::optional<std::string>> end_once(std::string_view key, std::string result) override;
  void drop_once(std::string_view key) noexcept override;
  std::string idempotency_key(std::string_view key) override {
    return asks().chain + ":" + std::string(key);
  }
  std::string_view state() const override {
    return asks_ ? std::string_view(asks_->own_state) : std::string_view();
  }
  const json::Value* answer(std::string_view key) const override;

 private:
  friend class Late;

  const mcp::Codec& codec() const noexcept { return *request_.codec; }
  EntryKind kind() const noexcept { return entry_->kind; }
  Asks& asks() {
    if (!asks_) asks_ = std::make_unique<Asks>(Asks::begin());
    return *asks_;
  }
  bool silent() const noexcept { return asks_ && (asks_->suspended || asks_->replaying()); }

  // Answering: a result is begun, its members are written, and it is ended with what its codec
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
  /// True if the run is suspended; then the client is asked, or the ledger waited for.
  bool suspend();
  /// The result of this request asks.
  void ask_by_result();
  void send(std::string message);
  Effects& effects();
  /// The run is suspended until the ledger answers. The error to pass on.
  Error wait_for_ledger(std::size_t to_pass);
  Result<WireQuestion> word(std::string_view key, Question question);
  /// May one more round be asked?
  bool may_ask();
  Error asked_in_circles() const;
  Error cannot_ask(const mcp::Unaskable& why) const;
  Error clients_fault(std::string text) const;
  /// Does a structured result fit what its tool promised? False after an error was sent. Always
  /// true for what is no tool.
  bool output_fits(std::string_view json);
  /// The result of a custom method.
  void own_object(std::string_view json);
  /// False if the client would not, which has been answered then.
  bool knows_result_type(std::string_view type);

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
/// Shared because the thread that runs it, the answers it waits for and its timer each have it.
class Late final : public LateWork, public std::enable_shared_from_this<Late> {
 public:
  Late(std::shared_ptr<Session> session, std::shared_ptr<rpc::detail::InFlight> request,
       const Request& stack_request, std::shared_ptr<const Entry> entry);
  ~Late() override;

  Work& work() override { return *frame_; }
  Frame& frame() { return *frame_; }
  rpc::detail::InFlight& request() { return *in_flight_; }
  Session& session() { return *session_; }
  /// As the handshake said when the call came; null if there was none.
  const Caller* caller() const { return caller_.get(); }

  /// The request with its params, which the first run inside this was given without.
  const Request& whole_request();
  /// Lets the handler's time run, on the peer's thread.
  void start_timer();
  /// Asks a stateful client what is pending, and runs the handler again with the answers. Any
  /// thread.
  void ask_client();
  /// Runs the handler again when the ledger has said what it was asked. Any thread.
  void wait_for_ledger();
  /// Renews the claims of the request while there are any. Any thread.
  void keep_claims();
  /// Whether this is the peer's thread.
  bool at_home() const noexcept { return std::this_thread::get_id() == home_; }
  /// Runs the next provider's handler. Any thread.
  void ask_next();

  // For saving and restoring, while the client is being asked.
  void resume(const RestoredRun& run);
  const std::vector<OpenQuestion>& open_questions() const noexcept { return open_; }
  std::string params() const;
  std::int64_t used_ms() const;

 private:
  /// True if nobody can answer any more, and the call has been ended for that.
  bool is_over();
  /// Ends the call beside the handler, whose thread may still be in its frame: neither that nor its
  /// writer is touched. A tool tells the model why, anything else fails with the error.
  void end_beside(const std::string& why, Error otherwise);
  void ask_now();
  /// All questions are on their way.
  void begin_being_asked();
  void answered(const WireQuestion& question, Result<RawJson> outcome);
  void run_again();
  void replay();
  void stop_timer();

  // In once.cpp, on the peer's thread.
  void begin_waiting();
  void look_at_ledger();
  void wait_until(TimePoint when);
  void waited();
  void end_waiting();
  void renew_later(std::shared_ptr<Effects> effects);

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
  std::vector<OpenQuestion> open_;
  std::size_t outstanding_ = 0;
  std::optional<std::stop_callback<Cancel>> on_cancel_;
  std::optional<rpc::TimerHandle> timer_;
  TimePoint timer_started_{};
  Duration time_used_{};

  // Of a ledger that is waited for. The timer holds this call meanwhile, so that the end of the
  // connection ends the wait.
  std::optional<rpc::TimerHandle> wait_timer_;
  TimePoint wait_end_{};
  Duration wait_pause_{};
  std::optional<rpc::TimerHandle> renew_timer_;
  const std::thread::id home_ = std::this_thread::get_id();
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

/// The error of an ask without an answer, and of an effect that the ledger has not decided on.
Error suspended();

}  // namespace godwit::inline v0::detail::server
