#include "frame.hpp"

#include <cmath>
#include <new>

#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"
#include "result.hpp"

namespace godwit::inline v0::detail::server {

namespace {

Error no_session() {
  return error("nothing can be kept for this client: it speaks a revision without sessions");
}

}  // namespace

// Answering.

void Frame::run(bool replay) {
  if (entry_->concurrency > 0) {
    counted_ = true;
    if (entry_->running.fetch_add(1) >= entry_->concurrency && !replay) {
      return refuse(Error{.code = rpc::code::internal_error,
                          .message = "busy: " + std::to_string(entry_->concurrency) +
                                     " calls of this are running already; try again later",
                          .data = {}});
    }
  }
  if (entry_->provider && !provided_arguments_fit()) return;
  entry_->handler->invoke(*this);
  if (lost_) throw std::bad_alloc();  // whoever runs this knows what to end
}

void Frame::release() noexcept {
  if (std::exchange(counted_, false)) entry_->running.fetch_sub(1);
}

json::Writer& Frame::open() {
  if (call_) return call_->begin_result();
  answer_.clear();
  return writer_.emplace(answer_);
}

void Frame::close() {
  release();  // whoever calls again upon the answer finds room
  if (call_) {
    call_->end_result();
  } else {
    rpc::detail::InFlight& request = late_->request();
    asking_ ? request.ask(std::move(answer_)) : request.answer(std::move(answer_));
  }
}

json::Writer& Frame::begin() {
  json::Writer& writer = open();
  codec().begin_result(writer);
  return writer;
}

json::Writer& Frame::begin(std::string_view result_type) {
  json::Writer& writer = open();
  codec().begin_typed_result(writer, result_type);
  return writer;
}

bool Request::declares(const Session& session, const std::string& extension) const {
  const auto& caller = session.caller();
  return codec->declares(facts, caller ? &caller->capabilities : nullptr, extension);
}

void Frame::end(json::Writer& writer, const json::Object* meta, const CacheHint* cache) {
  write_result_end(writer, codec(), session_.server(), meta, cache);
  close();
}

void Frame::refuse(Error error) {
  error = codec().wire_error(std::move(error));
  release();
  if (call_) {
    call_->fail(std::move(error));
  } else {
    late_->request().fail(std::move(error));
  }
}

void Frame::text(std::string_view text) {
  if (suspend()) return;
  switch (kind()) {
    case EntryKind::tool: {
      json::Writer& writer = begin();
      mcp::write_only_text(writer, text);
      return end(writer, nullptr, nullptr);
    }
    case EntryKind::prompt:
      return prompt(PromptResult{.messages = {user_says(TextContent{.text = std::string(text)})}});
    case EntryKind::resource:
      return read(ReadResult{.contents = {TextResourceContents{.uri = std::string(request_.uri),
                                                               .mimeType = *request_.mime_type,
                                                               .text = std::string(text)}}});
    case EntryKind::custom:
      return structured(json::quote(text));
    case EntryKind::list:
      return refuse(rpc::internal_error("the provider returned a text where a page belongs"));
  }
}

bool Frame::output_fits(std::string_view json) {
  const ToolEntry* tool = as_tool(*entry_);
  if (!tool || !tool->output) return true;
  // The session's document is for its own thread.
  std::optional<json::Document> own;
  const bool borrow = !late_ && json.size() <= Session::most_reused;
  json::Document& document = borrow ? session_.document : own.emplace();
  const Result<json::View> value = document.parse(json);
  if (value && tool->output->valid(*value)) return true;
  session_.server().options.log.limited(
      LogLevel::error, "the result of the tool " + json::quote(tool->tool.name) +
                           " does not fit its output schema: " +
                           (value ? tool->output->validate(*value).text() : value.error().message));
  refuse(rpc::internal_error("the result of the tool does not fit its output schema"));
  return false;
}

void Frame::own_object(std::string_view json) {
  const bool object = json.size() >= 2 && json.front() == '{';
  std::string type = "complete";
  std::optional<json::Object> meta;
  std::string rest;
  if (object && (json.find("\"_meta\"") != json.npos || json.find("\"resultType\"") != json.npos)) {
    // It may say itself what the codec would add: each member once.
    if (Result<json::Value> value = json::parse(json)) {
      json::Object& members = *value->as_object();
      type = codec().take_result_type(members);
      if (const json::Value* own = members.find("_meta"); own && own->as_object()) {
        meta = *own->as_object();
      }
      members.erase("_meta");
      rest = value->dump();
      json = rest;
    }
  }
  if (!object) {
    session_.server().options.log.limited(
        LogLevel::error, "the result of " + json::quote(request_.method) + " must be an object");
    return refuse(rpc::internal_error());
  }
  if (!knows_result_type(type)) return;
  json::Writer& writer = begin(type);
  if (json != "{}") writer.raw(json.substr(1, json.size() - 2));
  end(writer, meta ? &*meta : nullptr, nullptr);
}

bool Frame::knows_result_type(std::string_view type) {
  if (type == "complete") return true;
  const Extension* extension =
      session_.server().catalog()->extension_of(&Extension::result_types, type);
  if (extension && request_.declares(session_, extension->id)) return true;
  session_.server().options.log.limited(
      LogLevel::error, "a handler answered with the result type " + json::quote(type) +
                           ", which the client does not know");
  refuse(rpc::internal_error());
  return false;
}

void Frame::structured(std::string_view json) {
  if (suspend()) return;
  if (kind() == EntryKind::custom) {
    return own_object(json);
  }
  if (kind() != EntryKind::tool) {
    return refuse(rpc::internal_error("the handler returned a value where text was expected"));
  }
  if (!output_fits(json)) return;
  json::Writer& writer = begin();
  mcp::write_only_text(writer, json);
  codec().write_structured(writer, json);
  end(writer, nullptr, nullptr);
}

void Frame::contents(const std::vector<Content>& contents) {
  if (suspend()) return;
  if (kind() == EntryKind::custom && contents.empty()) return structured("{}");
  if (kind() == EntryKind::prompt) {
    PromptResult result;
    for (const Content& content : contents) result.messages.push_back(user_says(content));
    return prompt(result);
  }
  if (kind() != EntryKind::tool) {
    return refuse(rpc::internal_error("the handler returned content where something else belongs"));
  }
  json::Writer& writer = begin();
  writer.raw_key("\"content\":");
  codec().write_contents(writer, contents);
  end(writer, nullptr, nullptr);
}

void Frame::result(const ToolResult& result) {
  if (suspend()) return;
  // A method of the program's own may answer as a tool does: it is an object like others.
  if (kind() != EntryKind::tool && kind() != EntryKind::custom) {
    return refuse(rpc::internal_error("the handler returned a tool's result; this is no tool"));
  }
  const bool failed = result.isError.value_or(false);
  if (result.structuredContent && !failed && !output_fits(result.structuredContent->text)) return;
  if (!knows_result_type(codec().result_type(result))) return;
  write_tool_result(open(), codec(), session_.server(), result);
  close();
}

void Frame::prompt(const PromptResult& result) {
  if (suspend()) return;
  if (kind() != EntryKind::prompt) {
    return refuse(rpc::internal_error("the handler returned prompt messages; this is no prompt"));
  }
  json::Writer& writer = begin();
  if (result.description) {
    writer.raw_key("\"description\":");
    writer.value(*result.description);
  }
  writer.raw_key("\"messages\":");
  writer.begin_array();
  for (const PromptMessage& message : result.messages) {
    codec().write_message(writer, message);
  }
  writer.end_array();
  end(writer, result._meta ? &*result._meta : nullptr, nullptr);
}

void Frame::read(const ReadResult& result) {
  if (suspend()) return;
  if (kind() != EntryKind::resource) {
    return refuse(rpc::internal_error("the handler returned contents; this is no resource"));
  }
  json::Writer& writer = begin();
  writer.raw_key("\"contents\":");
  writer.begin_array();
  for (const ResourceContents& contents : result.contents) {
    codec().write_resource_contents(writer, contents);
  }
  writer.end_array();
  end(writer, result._meta ? &*result._meta : nullptr, request_.cache);
}

void Frame::blob(std::string_view bytes) {
  if (suspend()) return;
  if (kind() != EntryKind::resource) {
    return refuse(rpc::internal_error("the handler returned bytes; this is no resource"));
  }
  read(ReadResult{.contents = {BlobResourceContents{.uri = std::string(request_.uri),
                                                    .mimeType = *request_.mime_type,
                                                    .blob = base64(bytes)}}});
}

void Frame::tool_failed(std::string_view text) {
  write_tool_error(open(), codec(), session_.server(), text);
  close();
}

void Frame::fail(Error error) {
  if (suspend()) return;
  if (entry_->provider && is_not_found(error)) {
    if (kind() != EntryKind::list) return ask_next();
    return refuse(
        rpc::invalid_params("/cursor: not one of this list; begin again without a cursor"));
  }
  if (is_tool_error(error) && kind() == EntryKind::tool) {
    return tool_failed(error.message);
  }
  refuse(std::move(error));
}

void Frame::bad_arguments(const json::DecodeFailure& failure) {
  Error error = rpc::detail::params_error(failure);
  const ToolEntry* tool = as_tool(*entry_);
  if (!tool) return refuse(std::move(error));
  std::string text = "The arguments of " + json::quote(tool->tool.name) + " do not fit: ";
  // The schema knows the keyword; the struct may know more than the schema can say.
  const json::Validation validation = tool->check(request_.arguments);
  text += validation.ok() ? failure.text() : validation.text();
  error = codec().bad_arguments(std::move(error), std::move(text));
  if (is_tool_error(error)) return tool_failed(error.message);
  refuse(std::move(error));
}

void Frame::threw(std::exception_ptr exception) noexcept {
  try {
    std::string what = "something that is not a std::exception";
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
    }
    session_.server().options.log.limited(LogLevel::error, handler_name() + " threw: " + what);
    refuse(rpc::internal_error());
  } catch (...) {  // no memory for an answer
    if (late_) return late_->request().threw(exception);
    lost_ = true;
  }
}

std::string Frame::handler_name() const {
  const auto named = [](std::string_view what, std::string_view name) {
    return "the handler of the " + std::string(what) + " " + json::quote(name.substr(0, 200));
  };
  switch (kind()) {
    case EntryKind::tool:
      return named("tool", as_tool(*entry_)->tool.name);
    case EntryKind::prompt:
      return named("prompt", static_cast<const PromptEntry&>(*entry_).prompt.name);
    case EntryKind::resource:
      return named("resource", request_.uri);
    case EntryKind::list:
      return named("list", request_.method);
    case EntryKind::custom:
      break;
  }
  return named("method", request_.method);
}

std::shared_ptr<LateWork> Frame::defer() { return leave_stack(); }

std::shared_ptr<Late> Frame::leave_stack() {
  if (late_) return late_->shared_from_this();
  auto in_flight = call_->defer();
  if (!in_flight) return nullptr;
  auto late =
      std::make_shared<Late>(session_.shared_from_this(), std::move(in_flight), request_, entry_);
  late->frame().asks_ = std::move(asks_);
  late->frame().listed_ = std::move(listed_);
  late->frame().counted_ = std::exchange(counted_, false);
  late->frame().last_progress_ = last_progress_;
  late->start_timer();
  return late;
}

// Knowing and telling.

const Caller& Frame::caller() {
  if (caller_) return *caller_;
  const Caller* const agreed = late_ ? late_->caller() : session_.caller().get();
  Caller caller = agreed ? *agreed : Caller();
  codec().read_sender(request_.facts, caller.info, caller.capabilities);
  return caller_.emplace(std::move(caller));
}

std::optional<rpc::Id> Frame::request_id() const {
  return late_ ? late_->request().id() : rpc::Id::from(call_->id());
}

const rpc::Facts& Frame::facts() const {
  return late_ ? late_->request().facts() : call_->context().facts();
}

std::shared_ptr<void> Frame::session_state(const std::type_info& type, MakeState make) {
  std::shared_ptr<void> state;
  codec().between_requests([&] { state = session_.state(type, make); });
  return state;
}

Result<std::optional<std::string>> Frame::session_value(std::string_view key) {
  Result<std::optional<std::string>> out = no_session();
  codec().between_requests([&] { out = session_.value(key); });
  return out;
}

Result<void> Frame::set_session_value(std::string_view key, std::string json) {
  Result<void> out = no_session();
  codec().between_requests([&] { out = session_.set_value(key, std::move(json)); });
  return out;
}

std::stop_token Frame::cancelled() const {
  return late_ ? late_->request().cancelled() : std::stop_token();
}

void Frame::close_stream() {
  if (!late_) return;
  session_.post([session = session_.shared_from_this(), route = late_->request().route()] {
    session->peer().let_go(route);
  });
}

void Frame::send(std::string message) {
  if (late_) {
    late_->request().send(std::move(message));
  } else if (!session_.poster().closed()) {  // the handler may have destroyed the peer
    call_->context().send(std::move(message));
  }
}

void Frame::progress(double progress, std::optional<double> total, std::string_view message) {
  const json::View token = request_.meta.find("progressToken");
  const bool usable = token.is_string() || (token.is_number() && !token.is_real());
  if (!usable || silent() || !std::isfinite(progress)) return;
  if (progress <= last_progress_) return;  // it rises, always
  last_progress_ = progress;
  std::string text;
  rpc::detail::begin_notification(text, codec().name_of(mcp::Operation::progress));
  json::Writer writer(text);
  codec().write_progress(
      writer, {.token = token, .progress = progress, .total = total, .message = message});
  rpc::detail::end_notification(text);
  send(std::move(text));
}

bool Frame::wants_log(LoggingLevel level) {
  if (silent() || !session_.server().options.logging) return false;
  return codec().wants_log(level, session_.level(), request_.facts);
}

void Frame::log(LoggingLevel level, std::string_view json, std::string_view logger) {
  std::string text;
  rpc::detail::begin_notification(text, codec().name_of(mcp::Operation::log_message));
  json::Writer writer(text);
  writer.begin_object();
  writer.key("level");
  writer.value(json::enum_name(level));
  if (!logger.empty()) {
    writer.key("logger");
    writer.value(logger);
  }
  writer.key("data");
  writer.raw(json);
  writer.end_object();
  rpc::detail::end_notification(text);
  send(std::move(text));
}

}  // namespace godwit::inline v0::detail::server
