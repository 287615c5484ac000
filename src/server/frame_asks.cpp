// The asking part of a Frame, and what a Late does while a stateful client is being asked.
#include <algorithm>

#include "frame.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::server {

Error suspended() {
  return Error{.code = mcp::code::suspended,
               .message = "not answered yet: pass this error on, and the handler will run again",
               .cause = Cause::in_process};
}

Error Frame::cannot_ask(const mcp::Unaskable& why) const {
  if (why.required.empty()) {
    return clients_fault("the revision that this connection speaks, " +
                         std::string(codec().revision()) + ", has no " + std::string(why.what));
  }
  if (auto error = codec().missing_capability(why.what, why.required)) return *std::move(error);
  return clients_fault("the client does not offer " + std::string(why.what));
}

Error clients_fault(EntryKind kind, std::string text) {
  return kind == EntryKind::tool ? tool_error(std::move(text))
                                 : rpc::invalid_params(std::move(text));
}

Error Frame::clients_fault(std::string text) const {
  return server::clients_fault(kind(), std::move(text));
}

std::string misfit_text(std::string_view key, std::string_view why) {
  return "the answer to " + json::quote(key.substr(0, 200)) +
         " does not fit: " + std::string(why.substr(0, 500));
}

std::string misfit_text(std::string_view key, std::string_view why, unsigned rounds) {
  return "gave up after " + std::to_string(rounds) +
         " rounds of questions: " + misfit_text(key, why);
}

Result<WireQuestion> Frame::word(std::string_view key, Question question) {
  const ClientCapabilities& capabilities = caller().capabilities;
  WireQuestion out;
  out.key = key;
  mcp::Worded worded;
  switch (question.kind) {
    case Question::Kind::form:
      out.operation = mcp::Operation::elicit;
      worded = codec().word_form(question.elicit, capabilities);
      break;
    case Question::Kind::url:
      out.operation = mcp::Operation::elicit;
      question.elicit.elicitationId = asks().chain + "-" + out.key;
      worded = codec().word_url(question.elicit, capabilities);
      break;
    case Question::Kind::sample:
      out.operation = mcp::Operation::create_message;
      worded = codec().word_sampling(std::move(question.sample), capabilities);
      break;
    case Question::Kind::roots:
      out.operation = mcp::Operation::list_roots;
      worded = codec().word_roots(capabilities);
      break;
  }
  if (const auto* why = std::get_if<mcp::Unaskable>(&worded)) return cannot_ask(*why);
  out.params = std::get<std::string>(std::move(worded));
  out.digest = digest_of(std::string(codec().name_of(out.operation)) + out.params);
  return out;
}

Result<std::string_view> Frame::ask(std::string_view key, Question question) {
  Asks& all = asks();
  if (!all.used.emplace(key).second) {
    session_.server().options.log.limited(
        LogLevel::error, handler_name() + " asked twice under the key " + json::quote(key));
    return rpc::internal_error("the handler asked twice under the key " + json::quote(key));
  }
  if (all.suspended && !all.grouping) return suspended();
  const bool check_answer = question.check_answer;
  Result<WireQuestion> worded = word(key, std::move(question));
  if (!worded) return std::move(worded).error();
  const auto at = all.answers.find(key);
  if (at != all.answers.end()) {
    Asks::Answered& answered = at->second;
    if (answered.digest.empty() || answered.digest == worded->digest) {
      // One that came before it was asked for belongs to this question from now on.
      if (answered.digest.empty()) {
        answered.digest = worded->digest;
      } else {
        ++all.consumed;
      }
      if (answered.error) return *answered.error;
      all.last_asked = *std::move(worded);
      if (check_answer) {
        if (const auto why = misfit_of(all.last_asked, answered.text)) return ask_again(key, *why);
      }
      return std::string_view(answered.text);
    }
    all.answers.erase(at);  // it is another question now
  }
  if (!may_ask()) return asked_in_circles();
  all.pending.push_back(*std::move(worded));
  all.suspended = true;
  return suspended();
}

bool Frame::may_ask() { return asks().round < session_.server().options.ask_rounds; }

Error Frame::asked_in_circles() const {
  return clients_fault("gave up after " + std::to_string(session_.server().options.ask_rounds) +
                       " rounds of questions");
}

bool Frame::asks_again() {
  if (!asks_ || !asks_->suspended) return false;
  const bool kept =
      std::ranges::none_of(asks_->pending, &std::string::empty, &WireQuestion::params);
  if (kept && may_ask()) return suspend();
  asks_->suspended = false;
  const std::string& key = asks_->pending.front().key;
  fail(clients_fault(kept ? misfit_text(key, asks_->misfit, session_.server().options.ask_rounds)
                          : misfit_text(key, asks_->misfit)));
  return true;
}

void Frame::begin_all() { asks().grouping = !asks().suspended; }

void Frame::end_all(bool failed) {
  Asks& all = asks();
  if (failed && all.grouping) {  // one of them cannot be asked, so none is
    all.pending.clear();
    all.suspended = false;
  }
  all.grouping = false;
}

Error Frame::ask_again(std::string_view key, std::string_view why) {
  Asks& all = asks();
  const ServerOptions& options = session_.server().options;
  log_misfit(options.log, key, why);
  if (!may_ask()) return clients_fault(misfit_text(key, why, options.ask_rounds));
  all.answers.erase(std::string(key));
  if (all.last_asked.key == key) all.pending.push_back(std::move(all.last_asked));
  all.suspended = true;
  return suspended();
}

const json::Value* Frame::answer(std::string_view key) const {
  if (!asks_) return nullptr;
  const auto at = asks_->answers.find(key);
  if (at == asks_->answers.end()) return nullptr;
  const Asks::Answered& answered = at->second;
  // One that came before it was asked for has been held against no question.
  if (answered.error || answered.digest.empty()) return nullptr;
  if (!answered.value) answered.value = json::parse(answered.text).value_or(json::Value());
  return &*answered.value;
}

void Frame::ask(const InputRequired& questions) {
  if (suspend()) return;
  Asks& all = asks();
  all.own_state = questions.state();
  all.is_explicit = true;
  // Answers of the last round were for the handler to look at; each round asks anew.
  all.answers.clear();
  all.used.clear();
  all.grouping = true;
  for (const auto& [key, question] : questions.questions()) {
    if (auto asked = ask(key, question); !asked && !is_suspended(asked.error())) {
      end_all(true);
      return fail(std::move(asked).error());
    }
  }
  if (questions.questions().empty()) {
    if (questions.state().empty()) {
      return refuse(rpc::internal_error("the handler asked for input and had no question"));
    }
    if (!may_ask()) return fail(asked_in_circles());
    all.suspended = true;  // only to be called again with its state
  }
  suspend();
}

// Suspending.

bool Frame::suspend() {
  if (!asks_ || !asks_->suspended) return false;
  release();  // a person may think for a long time
  if (asks_->effects && asks_->effects->is_waiting()) {
    if (const std::shared_ptr<Late> late = leave_stack()) late->wait_for_ledger();
    return true;
  }
  asks_->to_pass = 0;
  if (asks_->effects) asks_->effects->release_unused();
  struct Ways final : mcp::Asking {
    explicit Ways(Frame& asking) : frame(asking) {}
    void by_requests() override {
      if (const std::shared_ptr<Late> late = frame.leave_stack()) late->ask_client();
    }
    void by_result() override { frame.ask_by_result(); }
    Frame& frame;
  } ways(*this);
  codec().ask(ways);
  return true;
}

void Frame::ask_by_result() {
  Asks& all = *asks_;
  Server::Impl& server = session_.server();
  if (kind() == EntryKind::custom || kind() == EntryKind::list) {
    server.options.log.limited(
        LogLevel::error,
        handler_name() + " asks, which only tools, prompts and resources can in this era");
    return refuse(rpc::internal_error());
  }
  if (!server.options.sealer) {
    server.options.log.limited(
        LogLevel::error, handler_name() +
                             " asks, and the server has no Sealer to keep its state safe; set "
                             "ServerOptions::sealer (godwit::AesSealer)");
    return refuse(rpc::internal_error());
  }
  if (late_) request_ = late_->whole_request();  // which the state belongs to
  ++all.round;
  std::string state = all.save(server.unix_time() + server.options.state_lifetime.count());
  if (state.size() > server.options.state_bytes) {
    if (state.size() - all.question_bytes() <= server.options.state_bytes) {
      server.options.log.limited(LogLevel::error, handler_name() + " asks questions that need " +
                                                      std::to_string(state.size()) +
                                                      " bytes of state, more than " +
                                                      std::to_string(server.options.state_bytes) +
                                                      " (ServerOptions::state_bytes)");
      return refuse(rpc::internal_error("the questions of the handler are too large"));
    }
    // It holds what the client answered, and what the handler made of that.
    const std::string what = "the request needs " + std::to_string(state.size()) +
                             " bytes of state between its rounds, more than " +
                             std::to_string(server.options.state_bytes);
    server.options.log.limited(LogLevel::warning, what + " (ServerOptions::state_bytes)");
    return refuse(rpc::invalid_params(what + "; send shorter arguments and answers"));
  }
  asking_ = true;
  if (call_) call_->set_asks();
  json::Writer& writer = open();
  codec().begin_typed_result(writer, "input_required");
  if (!all.pending.empty()) {
    writer.key("inputRequests");
    writer.begin_object();
    for (const WireQuestion& question : all.pending) {
      writer.key(question.key);
      writer.begin_object();
      writer.key("method");
      writer.value(codec().name_of(question.operation));
      writer.key("params");
      writer.raw(question.params);
      writer.end_object();
    }
    writer.end_object();
  }
  writer.key("requestState");
  writer.value(server.options.sealer->seal(state, state_context(facts(), request_, *entry_)));
  end(writer, nullptr, nullptr);
}

std::string state_context(const rpc::Facts& facts, const Request& request, const Entry& entry) {
  std::string text;
  json::Writer writer(text);
  writer.begin_array();
  writer.value(request.method);
  if (facts.identity) {
    writer.begin_array();
    writer.value(facts.identity->issuer);
    writer.value(facts.identity->subject);
    writer.value(facts.identity->client);
    writer.end_array();
  } else {
    writer.null();
  }
  writer.value(entry.digest);
  // What the client sends again, in whatever order: all but the parts that belong to the round.
  std::map<std::string_view, json::View> parts;
  for (const auto [key, value] : request.params.members()) {
    if (key == "_meta" || key == "inputResponses" || key == "requestState") continue;
    parts.emplace(key, value);
  }
  writer.begin_object();
  for (const auto& [key, value] : parts) {
    writer.key(key);
    writer.raw(canonical(value));
  }
  writer.end_object();
  writer.end_array();
  return text;
}

}  // namespace godwit::inline v0::detail::server
