// Late: a call that has left the stack, and the asking of stateful clients.
#include "frame.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/rpc/error_code.hpp"
#include "result.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Text that was valid JSON a moment ago, parsed again to be owned by the document.
json::View parse_again(json::Document& document, std::string_view text) {
  if (text.empty()) return {};
  Result<json::View> root =
      document.parse(text, json::ParseOptions{.depth = 100'000, .number_chars = 0});
  return root ? *root : json::View();
}

}  // namespace

Late::Late(std::shared_ptr<Session> session, std::shared_ptr<rpc::detail::InFlight> request,
           const Request& stack_request, std::shared_ptr<const Entry> entry)
    : session_(std::move(session)),
      in_flight_(std::move(request)),
      entry_(std::move(entry)),
      method_(stack_request.method),
      uri_(stack_request.uri),
      params_(stack_request.params.source()),
      request_(stack_request),
      caller_(session_->caller()) {
  request_.method = method_;
  request_.uri = uri_;
  if (entry_->own_arguments) variables_ = stack_request.arguments.source();
  request_.params = {};
  request_.arguments = {};
  request_.meta = parse_again(meta_document_, stack_request.meta.source());
  request_.facts = mcp::find_facts(request_.meta);
  request_.facts.log_level = stack_request.facts.log_level;
  frame_ = std::make_unique<Frame>(*session_, *this, request_, entry_);
}

const Request& Late::whole_request() {
  if (request_.params || params_.empty()) return request_;
  request_.params = parse_again(document_, params_);
  params_ = std::string();  // the document has a copy
  if (entry_->own_arguments) {
    request_.arguments = parse_again(variables_document_, variables_);
  } else if (entry_->kind == EntryKind::custom) {
    request_.arguments = request_.params;
  } else {
    request_.arguments = request_.params.find("arguments");
  }
  return request_;
}

Late::~Late() {
  if (!open_.empty()) session_->runs().leave(*this);
  // Whoever had it let it fall. After an answer this does nothing.
  try {
    in_flight_->fail(rpc::internal_error("the request was dropped unanswered"));
    for (const auto& timer : {timer_, renew_timer_}) {
      if (!timer) continue;
      session_->post([session = session_, timer = *timer] { session->peer().unschedule(timer); });
    }
  } catch (...) {  // no memory for the words; the timer will find nobody
    in_flight_->threw(std::current_exception());
  }
}

void Late::start_timer() {
  if (!entry_->timeout || timer_) return;
  rpc::Peer& peer = session_->peer();
  timer_started_ = peer.options().clock->now();
  timer_ = peer.schedule(*entry_->timeout - time_used_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(*self->entry_->timeout).count();
    const std::string why = "the handler took longer than " + std::to_string(ms) + " ms";
    self->end_beside(why, rpc::internal_error(why));
    self->in_flight_->request_stop();
  });
}

void Late::end_beside(const std::string& why, Error otherwise) {
  if (entry_->kind != EntryKind::tool) return in_flight_->fail(std::move(otherwise));
  std::string answer;
  json::Writer writer(answer);
  write_tool_error(writer, *request_.codec, session_->server(), why);
  in_flight_->answer(std::move(answer));
}

bool Late::is_over() {
  if (!in_flight_->cancelled().stop_requested()) return false;
  // One that the client took back gets no answer, whatever is said here.
  const std::string why = "the connection ended before the client answered";
  end_beside(why, rpc::invalid_params(why));
  return true;
}

void Late::stop_timer() {
  if (!timer_) return;
  rpc::Peer& peer = session_->peer();
  peer.unschedule(*std::exchange(timer_, std::nullopt));
  time_used_ += peer.options().clock->now() - timer_started_;
}

void Late::ask_client() {
  session_->post([self = shared_from_this()] { self->ask_now(); });
}

void Late::ask_now() {
  stop_timer();
  if (is_over()) return;
  Asks& asks = *frame_->asks_;
  ++asks.round;
  const std::vector<WireQuestion> questions = asks.pending;
  outstanding_ = questions.size();
  waiting_.clear();
  waiting_.reserve(questions.size());
  open_.clear();
  open_.reserve(questions.size());
  if (questions.empty()) return run_again();  // it only wanted to be called again
  Rollback unasked([&] { Cancel{this}(); });  // if one cannot be asked, none need be answered
  rpc::Peer& peer = session_->peer();
  const rpc::CallOptions options{.timeout = session_->server().options.ask_timeout,
                                 .route = in_flight_->route()};
  for (const WireQuestion& question : questions) {
    if (session_->poster().closed()) return;  // sending the last one ended the connection
    const auto done = [self = shared_from_this(), question](Result<RawJson> outcome) {
      self->answered(question, std::move(outcome));
    };
    const std::string_view method = request_.codec->name_of(question.operation);
    // Whoever carries the question may have to save first that it was asked.
    open_.push_back(
        {.key = question.key, .id = peer.next_call_id(), .method = std::string(method)});
    session_->runs().enter(*this);
    session_->runs().changed();
    const rpc::CallHandle call =
        question.params == "{}"
            ? peer.call<RawJson>(method, rpc::no_params, done, options)
            : peer.call<RawJson>(method, RawJson{question.params}, done, options);
    if (call.number != 0) waiting_.push_back(call);
  }
  begin_being_asked();
  unasked.dismiss();
}

void Late::begin_being_asked() {
  if (outstanding_ == 0 || session_->poster().closed()) return;
  session_->runs().enter(*this);
  on_cancel_.emplace(in_flight_->cancelled(), Cancel{this});
}

void Late::Cancel::operator()() const noexcept {
  // The client took its request back: it need not answer our questions about it.
  const auto self = late->weak_from_this().lock();
  if (!self) return;
  const auto calls = std::exchange(self->waiting_, {});
  for (const rpc::CallHandle call : calls) {
    if (self->session_->poster().closed()) return;
    self->session_->peer().cancel(call, "the request was cancelled");
  }
}

void Late::answered(const WireQuestion& question, Result<RawJson> outcome) {
  std::erase_if(open_, [&](const OpenQuestion& open) { return open.key == question.key; });
  session_->runs().changed();
  Asks& asks = *frame_->asks_;
  Asks::Answered answer{.digest = question.digest};
  const std::size_t most = session_->server().options.state_bytes;
  if (!outcome) {
    answer.error = clients_fault(
        entry_->kind, "the client could not answer: " + outcome.error().message.substr(0, 500));
  } else if (asks.answer_bytes() + outcome->text.size() > most) {
    answer.error = clients_fault(
        entry_->kind, "the answers have more than " + std::to_string(most) + " bytes together");
  } else {
    answer.text = std::move(outcome->text);
  }
  asks.answers.insert_or_assign(question.key, std::move(answer));
  if (--outstanding_ > 0) return;
  session_->runs().leave(*this);
  on_cancel_.reset();
  waiting_.clear();
  if (is_over()) return;
  const ServerOptions& options = session_->server().options;
  if (std::vector<WireQuestion> again = asks.take_misfits(options.log); !again.empty()) {
    if (asks.round < options.ask_rounds) {
      asks.pending = std::move(again);
      return ask_client();
    }
    const std::string why = misfit_text(again.front().key, asks.misfit, options.ask_rounds);
    return end_beside(why, rpc::invalid_params(why));
  }
  // Not from inside the peer's callback: the handler may do anything.
  session_->post([self = shared_from_this()] { self->run_again(); });
}

void Late::run_again() {
  if (!is_over()) replay();
}

void Late::replay() {
  std::unique_ptr<Asks> asks = frame_->take_asks();
  const double progress = frame_->last_progress_;
  asks->begin_run();
  // The thread of a blocking handler may still be on its way out of the last frame.
  previous_ = std::move(frame_);
  frame_ = std::make_unique<Frame>(*session_, *this, whole_request(), entry_);
  frame_->last_progress_ = progress;
  frame_->set_asks(std::move(asks));
  start_timer();
  frame_->run(true);
}

}  // namespace godwit::inline v0::detail::server
