#include "godwit/rpc/message.hpp"

#include "encode.hpp"
#include "envelope.hpp"
#include "godwit/json/document.hpp"

namespace godwit::inline v0::rpc {

namespace {

using detail::Envelope;

Result<Message> to_message(json::View view, const Rules& rules) {
  Envelope envelope = detail::read_envelope(view, rules);
  if (envelope.kind == Envelope::Kind::request || envelope.kind == Envelope::Kind::notification) {
    if (auto problem = detail::ambiguous_params(envelope.params)) {
      return invalid_request(*std::move(problem));
    }
  }
  json::Object extra;
  if (envelope.has_unknown_members && envelope.kind != Envelope::Kind::invalid) {
    extra = std::move(*json::Value(view).as_object());  // at once: adding one by one is quadratic
    for (const char* known : {"jsonrpc", "method", "params", "id", "result", "error"}) {
      extra.erase(known);
    }
  }
  const auto params = [&]() -> std::optional<json::Value> {
    if (!envelope.params) return std::nullopt;
    return json::Value(envelope.params);
  };
  switch (envelope.kind) {
    case Envelope::Kind::request:
      return Message(Request{.id = *Id::from(envelope.id),
                             .method = std::string(envelope.method),
                             .params = params(),
                             .extra = std::move(extra)});
    case Envelope::Kind::notification:
      return Message(Notification{
          .method = std::string(envelope.method), .params = params(), .extra = std::move(extra)});
    case Envelope::Kind::response:
      return Message(Response{.id = Id::from(envelope.id).value_or(Id()),
                              .result = json::Value(envelope.result),
                              .extra = std::move(extra)});
    case Envelope::Kind::error_response: {
      std::string problem;
      return Message(ErrorResponse{.id = Id::from(envelope.id),
                                   .error = *detail::read_error(envelope.error, problem),
                                   .extra = std::move(extra)});
    }
    case Envelope::Kind::invalid:
      break;
  }
  return invalid_request(std::move(envelope.problem));
}

void write_extra(json::Writer& writer, const json::Object& extra) {
  for (const json::Member& member : extra) {
    writer.key(member.key);
    writer.value(member.value);
  }
}

void write_call(json::Writer& writer, const std::string& method,
                const std::optional<json::Value>& params, const json::Object& extra) {
  writer.key("method");
  writer.value(method);
  if (params) {
    writer.key("params");
    writer.value(*params);
  }
  write_extra(writer, extra);
}

void write_message(json::Writer& writer, const Message& message) {
  writer.begin_object();
  writer.key("jsonrpc");
  writer.value("2.0");
  if (const auto* request = std::get_if<Request>(&message)) {
    writer.key("id");
    request->id.write(writer);
    write_call(writer, request->method, request->params, request->extra);
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    write_call(writer, notification->method, notification->params, notification->extra);
  } else if (const auto* response = std::get_if<Response>(&message)) {
    writer.key("id");
    response->id.write(writer);
    writer.key("result");
    writer.value(response->result);
    write_extra(writer, response->extra);
  } else if (const auto* error = std::get_if<ErrorResponse>(&message)) {
    if (error->id) {
      writer.key("id");
      error->id->write(writer);
    }
    writer.key("error");
    detail::write_error(writer, error->error);
    write_extra(writer, error->extra);
  }
  writer.end_object();
}

}  // namespace

Result<Parsed> parse_message(std::string_view text, const Rules& rules, const Limits& limits) {
  if (text.size() > limits.message_bytes_in) {
    return invalid_request("the message has " + std::to_string(text.size()) + " bytes, more than " +
                           std::to_string(limits.message_bytes_in));
  }
  json::Document document;
  Result<json::View> root = document.parse(text, json::ParseOptions::from(limits));
  if (!root) {
    Error error = std::move(root).error();
    error.message = parse_error(std::move(error.message)).message;
    return error;
  }
  if (!root->is_array()) {
    Result<Message> message = to_message(*root, rules);
    if (!message) return std::move(message).error();
    return Parsed(*std::move(message));
  }
  if (auto problem = detail::batch_problem(*root, rules, limits)) return *std::move(problem);
  std::vector<Parsed::Entry> entries;
  entries.reserve(root->size());
  for (json::View entry : root->items()) entries.push_back(to_message(entry, rules));
  return Parsed(std::move(entries));
}

std::string serialize(const Message& message) {
  std::string out;
  json::Writer writer(out);
  write_message(writer, message);
  return out;
}

std::string serialize(const std::vector<Message>& batch) {
  std::string out;
  json::Writer writer(out);
  writer.begin_array();
  for (const Message& message : batch) write_message(writer, message);
  writer.end_array();
  return out;
}

Request make_request(Id id, std::string method, std::optional<json::Value> params) {
  return {
      .id = std::move(id), .method = std::move(method), .params = std::move(params), .extra = {}};
}
Notification make_notification(std::string method, std::optional<json::Value> params) {
  return {.method = std::move(method), .params = std::move(params), .extra = {}};
}
Response make_response(Id id, json::Value result) {
  return {.id = std::move(id), .result = std::move(result), .extra = {}};
}
ErrorResponse make_error(std::optional<Id> id, Error error) {
  return {.id = std::move(id), .error = std::move(error), .extra = {}};
}

Role role_of(json::View message) {
  unsigned methods = 0;
  unsigned ids = 0;
  unsigned outcomes = 0;
  for (const auto [key, value] : message.members()) {
    if (key == "method") ++methods;
    if (key == "id") ++ids;
    if (key == "result" || key == "error") ++outcomes;
  }
  if (methods > 0) return outcomes == 0 ? Role::call : Role::none;
  return outcomes > 0 && ids <= 1 ? Role::answer : Role::none;
}

Result<ClientMessage> as_client_message(Message message) {
  if (auto* request = std::get_if<Request>(&message)) return ClientMessage(std::move(*request));
  if (auto* notification = std::get_if<Notification>(&message)) {
    return ClientMessage(std::move(*notification));
  }
  return invalid_request("a client sends requests and notifications, not responses");
}

Result<ServerMessage> as_server_message(Message message) {
  if (auto* notification = std::get_if<Notification>(&message)) {
    return ServerMessage(std::move(*notification));
  }
  if (auto* response = std::get_if<Response>(&message)) return ServerMessage(std::move(*response));
  if (auto* error = std::get_if<ErrorResponse>(&message)) return ServerMessage(std::move(*error));
  return invalid_request("a server sends notifications and responses, not requests");
}

}  // namespace godwit::inline v0::rpc
