#include "envelope.hpp"

#include "godwit/json/writer.hpp"

namespace godwit::inline v0::rpc::detail {

namespace {

/// The members that JSON-RPC knows; `unknown` is where all others go.
enum Part : unsigned { version, method, params, id, result, error, unknown };

constexpr unsigned bit(Part part) { return 1u << part; }

Part part_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      return json::detail::same_name(key, "id") ? id : unknown;
    case 5:
      return json::detail::same_name(key, "error") ? error : unknown;
    case 6:
      if (json::detail::same_name(key, "method")) return method;
      if (json::detail::same_name(key, "params")) return params;
      return json::detail::same_name(key, "result") ? result : unknown;
    case 7:
      return json::detail::same_name(key, "jsonrpc") ? version : unknown;
    default:
      return unknown;
  }
}

/// Out of line: what is only needed to refuse should cost a good message nothing.
[[gnu::noinline]] Envelope& refuse(Envelope& envelope, std::string_view problem) {
  envelope.kind = Envelope::Kind::invalid;
  envelope.problem = problem;
  return envelope;
}

std::string twice(std::string_view key) {
  return "the member " + json::quote(key.substr(0, 100)) + " occurs twice";
}

/// Why this cannot be the id of a message; empty if it can.
std::string_view id_problem(json::View view, const Rules& rules) {
  if (view.is_string()) return {};
  if (view.is_null()) {
    if (rules.null_id) return {};
    return R"("id" must not be null; leave it out for a notification)";
  }
  if (view.is_number()) {
    if (rules.fractional_id || !view.is_real()) return {};
    return R"("id" must be a string or an integer)";
  }
  return R"("id" must be a string or a number)";
}

[[gnu::noinline]] Envelope& refuse_twins(Envelope& envelope, json::View message) {
  return refuse(envelope, twice(*message.duplicate_key()));
}

[[gnu::noinline]] Envelope& refuse_kind(Envelope& envelope, json::View message) {
  return refuse(envelope,
                "a message must be an object, got " + std::string(json::to_string(message.type())));
}

}  // namespace

std::optional<std::string> ambiguous_params(json::View params) {
  if (!params.is_object()) return std::nullopt;
  if (const auto key = params.duplicate_key()) return twice(*key) + " in \"params\"";
  if (const auto inner = params.find("_meta").duplicate_key()) {
    return twice(*inner) + " in \"_meta\"";
  }
  return std::nullopt;
}

Envelope read_envelope(json::View message, const Rules& rules) {
  Envelope envelope;
  if (!message.is_object()) return refuse_kind(envelope, message);
  unsigned seen = 0;
  unsigned repeated = 0;
  json::View parts[unknown + 1];
  for (const auto [key, value] : message.members()) {
    const Part part = part_of(key);
    // Read on where one occurs twice: whether it is an answer, and to what, must be known before it
    // is refused.
    repeated |= seen & bit(part);
    if (!(seen & bit(part))) parts[part] = value;
    seen |= bit(part);
  }
  const json::View id_view = parts[id];
  envelope.params = parts[params];
  envelope.result = parts[result];
  envelope.error = parts[error];
  envelope.has_unknown_members = (seen & bit(unknown)) != 0;
  envelope.is_answer = !(seen & bit(method)) && (seen & (bit(result) | bit(error)));
  const std::string_view bad_id = id_view ? id_problem(id_view, rules) : std::string_view();
  if (bad_id.empty() && !(repeated & bit(id))) envelope.id = id_view;
  if (repeated && message.duplicate_key()) return refuse_twins(envelope, message);
  if (!bad_id.empty() && !(envelope.is_answer && id_view.is_null())) {
    return refuse(envelope, bad_id);
  }
  if (!json::detail::same_name(parts[version].as_string().value_or(""), "2.0")) {
    return refuse(envelope, R"("jsonrpc" must be "2.0")");
  }
  if (seen & bit(method)) {
    if (!parts[method].get(envelope.method))
      return refuse(envelope, R"("method" must be a string)");
    if (seen & (bit(result) | bit(error))) {
      return refuse(envelope, R"(a request must not have "result" or "error")");
    }
    if (envelope.params) {
      const bool array = envelope.params.is_array();
      if (array && !rules.array_params) return refuse(envelope, R"("params" must be an object)");
      if (!array && !envelope.params.is_object()) {
        return refuse(envelope, rules.array_params ? R"("params" must be an object or an array)"
                                                   : R"("params" must be an object)");
      }
    }
    envelope.kind = id_view ? Envelope::Kind::request : Envelope::Kind::notification;
    return envelope;
  }
  if (!envelope.is_answer) {
    return refuse(envelope, R"(there is neither "method" nor "result" nor "error")");
  }
  if ((seen & bit(result)) && (seen & bit(error))) {
    envelope.is_error_with_null = envelope.result.is_null();
    return refuse(envelope, R"(a response must not have both "result" and "error")");
  }
  if (seen & bit(result)) {
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
  out.cause = Cause::peer;
  return out;
}

}  // namespace godwit::inline v0::rpc::detail
