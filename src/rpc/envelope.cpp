#include "envelope.hpp"

#include "godwit/json/writer.hpp"

namespace godwit::inline v0::rpc::detail {

namespace {

enum Seen : unsigned {
  none = 0,
  version = 1,
  method = 2,
  params = 4,
  id = 8,
  result = 16,
  error = 32
};

/// Bit and place of a member of the envelope; 0 for one that JSON-RPC does not know.
unsigned known_member(std::string_view key) {
  switch (key.size()) {
    case 2:
      return json::detail::same_name(key, "id") ? id : none;
    case 5:
      return json::detail::same_name(key, "error") ? error : none;
    case 6:
      if (json::detail::same_name(key, "method")) return method;
      if (json::detail::same_name(key, "params")) return params;
      return json::detail::same_name(key, "result") ? result : none;
    case 7:
      return json::detail::same_name(key, "jsonrpc") ? version : none;
    default:
      return 0;
  }
}

Envelope& refuse(Envelope& envelope, std::string problem) {
  envelope.kind = Envelope::Kind::invalid;
  envelope.problem = std::move(problem);
  return envelope;
}

std::string twice(std::string_view key) {
  return "the member " + json::quote(key.substr(0, 100)) + " occurs twice";
}

bool usable_id(json::View view, const Rules& rules, std::string& problem) {
  if (view.is_string()) return true;
  if (view.is_null()) {
    if (rules.null_id) return true;
    problem = "\"id\" must not be null; leave it out for a notification";
    return false;
  }
  if (view.is_number()) {
    if (rules.fractional_id || !view.is_real()) return true;
    problem = "\"id\" must be a string or an integer";
    return false;
  }
  problem = "\"id\" must be a string or a number";
  return false;
}

/// The names inside params and its _meta must be unique: two readers could otherwise see two
/// messages.
std::optional<std::string> ambiguous_params(json::View params) {
  if (!params.is_object()) return std::nullopt;
  if (const auto key = params.duplicate_key()) return twice(*key) + " in \"params\"";
  for (const auto [key, value] : params.members()) {
    if (key.size() != 5 || key != "_meta") continue;
    if (const auto inner = value.duplicate_key()) return twice(*inner) + " in \"_meta\"";
    break;
  }
  return std::nullopt;
}

}  // namespace

Envelope read_envelope(json::View message, const Rules& rules) {
  Envelope envelope;
  if (!message.is_object()) {
    return refuse(envelope, "a message must be an object, got " +
                                std::string(json::to_string(message.type())));
  }
  unsigned seen = 0;
  unsigned repeated = 0;
  std::optional<std::string_view> ambiguous;
  json::View version_view;
  json::View method_view;
  json::View id_view;
  for (const auto [key, value] : message.members()) {
    const unsigned bit = known_member(key);
    if (bit == 0) {
      envelope.has_unknown_members = true;
      continue;
    }
    if (seen & bit) {
      // Read on: whether it is an answer, and to what, must be known before it is refused.
      repeated |= bit;
      if (!ambiguous) ambiguous = key;
      continue;
    }
    seen |= bit;
    switch (bit) {
      case version:
        version_view = value;
        break;
      case method:
        method_view = value;
        break;
      case params:
        envelope.params = value;
        break;
      case id:
        id_view = value;
        break;
      case result:
        envelope.result = value;
        break;
      default:
        envelope.error = value;
    }
  }
  envelope.is_answer = !(seen & method) && (seen & (result | error));
  if (!ambiguous && envelope.has_unknown_members) ambiguous = message.duplicate_key();
  std::string id_problem;
  if (id_view && !(repeated & id) && usable_id(id_view, rules, id_problem)) envelope.id = id_view;
  if (ambiguous) return refuse(envelope, twice(*ambiguous));
  if (id_view && !envelope.id && !(envelope.is_answer && id_view.is_null())) {
    return refuse(envelope, std::move(id_problem));
  }
  if (!version_view || version_view.as_string() != "2.0") {
    return refuse(envelope, R"("jsonrpc" must be "2.0")");
  }
  if (seen & method) {
    const auto name = method_view.as_string();
    if (!name) return refuse(envelope, R"("method" must be a string)");
    if (seen & (result | error)) {
      return refuse(envelope, R"(a request must not have "result" or "error")");
    }
    envelope.method = *name;
    if (envelope.params) {
      const bool array = envelope.params.is_array();
      if (array && !rules.array_params) return refuse(envelope, R"("params" must be an object)");
      if (!array && !envelope.params.is_object()) {
        return refuse(envelope, rules.array_params ? R"("params" must be an object or an array)"
                                                   : R"("params" must be an object)");
      }
      if (auto problem = ambiguous_params(envelope.params)) {
        return refuse(envelope, *std::move(problem));
      }
    }
    envelope.kind = id_view ? Envelope::Kind::request : Envelope::Kind::notification;
    return envelope;
  }
  if (!envelope.is_answer) {
    return refuse(envelope, R"(there is neither "method" nor "result" nor "error")");
  }
  if ((seen & result) && (seen & error)) {
    return refuse(envelope, R"(a response must not have both "result" and "error")");
  }
  if (seen & result) {
    if (!id_view) return refuse(envelope, R"(a response must have the "id" of its request)");
    if (rules.object_result && !envelope.result.is_object()) {
      return refuse(envelope, R"("result" must be an object)");
    }
    envelope.kind = Envelope::Kind::response;
    return envelope;
  }
  if (!id_view && rules.id_on_unreadable) {
    return refuse(envelope, R"(a response must have the "id" of its request, or null)");
  }
  if (!read_error(envelope.error, envelope.problem)) return envelope;
  envelope.kind = Envelope::Kind::error_response;
  return envelope;
}

std::optional<Error> read_error(json::View view, std::string& problem) {
  if (!view.is_object()) {
    problem = R"("error" must be an object)";
    return std::nullopt;
  }
  if (const auto key = view.duplicate_key()) {
    problem = twice(*key) + " in \"error\"";
    return std::nullopt;
  }
  Error out;
  const auto number = view.find("code").as_int64();
  if (!number) {
    problem = R"("error" must have an integer "code")";
    return std::nullopt;
  }
  const auto text = view.find("message").as_string();
  if (!text) {
    problem = R"("error" must have a string "message")";
    return std::nullopt;
  }
  out.code = *number;
  out.message = *text;
  if (const json::View data = view.find("data")) out.data = data.source();
  return out;
}

}  // namespace godwit::inline v0::rpc::detail
