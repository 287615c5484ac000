// The asking part of a Frame, and what a Late does while a stateful client is being asked.
#include "frame.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/encode.hpp"

namespace godwit::inline v0::detail {

namespace {

Error suspended() {
  return Error{.code = mcp::code::suspended,
               .message = "not answered yet: pass this error on, and the handler will run again"};
}

}  // namespace

Error wire_error(Error error, const mcp::Dialect& dialect) {
  switch (error.code) {
    case mcp::code::not_found:
      error.code = dialect.stateless ? rpc::code::invalid_params : mcp::code::resource_not_found;
      return error;
    // Outcomes inside this process: of a call that the handler made, or passed on by mistake.
    case mcp::code::tool_error:
    case rpc::code::connection_closed:
    case rpc::code::request_timeout:
    case rpc::code::cancelled:
      error.code = rpc::code::internal_error;
      return error;
    case mcp::code::suspended:
      return rpc::internal_error("the handler passed on a question that it had not asked");
    default:
      return error;
  }
}

Error Frame::not_offered(std::string_view what, std::string required) const {
  if (dialect().stateless) return mcp::missing_capability(what, std::move(required));
  return tool_error("the client does not offer " + std::string(what));
}

Result<WireQuestion> Frame::word(std::string_view key, Question question) {
  const ClientCapabilities& capabilities = caller().capabilities;
  WireQuestion out;
  out.key = key;
  json::Writer writer(out.params);
  using Kind = Question::Kind;
  switch (question.kind) {
    case Kind::form:
      out.operation = mcp::Operation::elicit;
      if (!capabilities.elicitation || !capabilities.elicitation->takes_forms() ||
          dialect().name_of(out.operation).empty()) {
        return not_offered("elicitation by forms", R"({"elicitation":{"form":{}}})");
      }
      if (!mcp::can_say_form(question.elicit.requestedSchema, dialect())) {
        return tool_error("the client speaks a revision that has no lists in forms");
      }
      writer.begin_object();
      if (dialect().icons) {
        writer.key("mode");
        writer.value("form");
      }
      writer.key("message");
      writer.value(question.elicit.message);
      writer.key("requestedSchema");
      writer.raw(question.elicit.requestedSchema.text);
      writer.end_object();
      break;
    case Kind::url:
      out.operation = mcp::Operation::elicit;
      if (!capabilities.elicitation || !capabilities.elicitation->takes_urls() ||
          !dialect().icons) {
        return not_offered("elicitation by urls", R"({"elicitation":{"url":{}}})");
      }
      writer.begin_object();
      writer.key("mode");
      writer.value("url");
      writer.key("message");
      writer.value(question.elicit.message);
      writer.key("url");
      writer.value(question.elicit.url);
      if (!dialect().stateless) {
        writer.key("elicitationId");
        writer.value(asks().chain + "-" + std::string(key));
      }
      writer.end_object();
      break;
    case Kind::sample: {
      out.operation = mcp::Operation::create_message;
      if (!capabilities.sampling) return not_offered("sampling", R"({"sampling":{}})");
      const bool tools = question.sample.tools || question.sample.toolChoice;
      if (tools && (!capabilities.sampling->tools || !dialect().icons)) {
        return not_offered("tools in sampling", R"({"sampling":{"tools":{}}})");
      }
      question.sample = mcp::fitted(std::move(question.sample), dialect());
      if (!mcp::can_say(question.sample, dialect())) {
        return tool_error("the client speaks a revision that has no such content in sampling");
      }
      json::write(writer, question.sample);
      break;
    }
    case Kind::roots:
      out.operation = mcp::Operation::list_roots;
      if (!capabilities.roots) return not_offered("roots", R"({"roots":{}})");
      writer.begin_object();
      writer.end_object();
      break;
  }
  out.digest = digest_of(std::string(dialect().name_of(out.operation)) + out.params);
  return out;
}

Result<json::Value> Frame::ask(std::string_view key, Question question) {
  Asks& all = asks();
  if (!all.used.emplace(key).second) {
    session_.server().options.log.error("the handler of " + json::quote(request_.method) +
                                        " asked twice under the key " + json::quote(key));
    return rpc::internal_error("the handler asked twice under the key " + json::quote(key));
  }
  if (all.suspended && !all.grouping) return suspended();
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
      return answered.value;
    }
    all.answers.erase(at);  // it is another question now
  }
  if (auto enough = asked_enough()) return *std::move(enough);
  all.pending.push_back(*std::move(worded));
  all.suspended = true;
  return suspended();
}

std::optional<Error> Frame::asked_enough() {
  const unsigned most = session_.server().options.ask_rounds;
  if (asks().round < most) return std::nullopt;
  return Error{
      .code = request_.kind == WorkKind::tool ? mcp::code::tool_error : rpc::code::internal_error,
      .message = "gave up after " + std::to_string(most) + " rounds of questions"};
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
  session_.server().options.log.warning("an answer did not fit the question " + json::quote(key) +
                                        " and is asked for again: " + std::string(why));
  if (auto enough = asked_enough()) return *std::move(enough);
  all.answers.erase(std::string(key));
  if (all.last_asked.key == key) all.pending.push_back(std::move(all.last_asked));
  all.suspended = true;
  return suspended();
}

const json::Value* Frame::answer(std::string_view key) const {
  if (!asks_) return nullptr;
  const auto at = asks_->answers.find(key);
  return at == asks_->answers.end() || at->second.error ? nullptr : &at->second.value;
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
    if (Result<json::Value> asked = ask(key, question); !asked && !is_suspended(asked.error())) {
      end_all(true);
      return fail(std::move(asked).error());
    }
  }
  if (questions.questions().empty()) {
    if (questions.state().empty()) {
      return refuse(rpc::internal_error("the handler asked for input and had no question"));
    }
    if (auto enough = asked_enough()) return fail(*std::move(enough));
    all.suspended = true;  // only to be called again with its state
  }
  suspend();
}

Result<std::optional<std::string>> Frame::begin_once(std::string_view key) {
  Asks& all = asks();
  if (all.suspended) return suspended();
  const auto at = all.done.find(key);
  if (at != all.done.end()) return std::optional<std::string>(at->second);
  Claim claim = session_.server().ledger().claim(all.chain, key);
  switch (claim.state) {
    case Claim::State::claimed:
      return std::optional<std::string>();
    case Claim::State::done:
      all.done.emplace(std::string(key), claim.result);
      return std::optional<std::string>(std::move(claim.result));
    case Claim::State::running:
      break;
  }
  return Error{.code = rpc::code::internal_error,
               .message = "busy: " + json::quote(key) +
                          " is being done for another copy of this request; try again later"};
}

void Frame::end_once(std::string_view key, std::string result) {
  asks().done.insert_or_assign(std::string(key), result);
  session_.server().ledger().complete(asks().chain, key, std::move(result));
}

void Frame::drop_once(std::string_view key) {
  session_.server().ledger().release(asks().chain, key);
}

// Suspending.

bool Frame::suspend() {
  if (!asks_ || !asks_->suspended) return false;
  release();  // a person may think for a long time
  if (dialect().stateless) {
    suspend_stateless();
    return true;
  }
  const auto late = std::static_pointer_cast<Late>(defer());
  if (late) late->ask_client();
  return true;
}

void Frame::suspend_stateless() {
  Asks& all = *asks_;
  Server::Impl& server = session_.server();
  if (request_.kind == WorkKind::custom) {
    server.options.log.error("the handler of " + json::quote(request_.method) +
                             " asks, which only tools, prompts and resources can in this era");
    return refuse(rpc::internal_error());
  }
  if (!server.options.sealer) {
    server.options.log.error("the handler of " + json::quote(request_.method) +
                             " asks, and the server has no Sealer to keep its state safe; set "
                             "ServerOptions::sealer (godwit::AesSealer)");
    return refuse(rpc::internal_error());
  }
  ++all.round;
  std::string state = all.save(server.unix_time() + server.options.state_lifetime.count());
  if (state.size() > server.options.state_bytes) {
    return refuse(rpc::internal_error("the state of the request has " +
                                      std::to_string(state.size()) + " bytes, more than " +
                                      std::to_string(server.options.state_bytes)));
  }
  json::Writer& writer = open();
  writer.begin_object();
  writer.raw(R"("resultType":"input_required")");
  if (!all.pending.empty()) {
    writer.key("inputRequests");
    writer.begin_object();
    for (const WireQuestion& question : all.pending) {
      writer.key(question.key);
      writer.begin_object();
      writer.key("method");
      writer.value(dialect().name_of(question.operation));
      writer.key("params");
      writer.raw(question.params);
      writer.end_object();
    }
    writer.end_object();
  }
  writer.key("requestState");
  writer.value(server.options.sealer->seal(state, state_context(session_, request_, *entry_)));
  end(writer, nullptr, nullptr);
}

std::string state_context(const Session& session, const Request& request, const Entry& entry) {
  std::string text;
  json::Writer writer(text);
  writer.begin_array();
  writer.value(request.method);
  writer.value(session.facts().principal);
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

}  // namespace godwit::inline v0::detail
