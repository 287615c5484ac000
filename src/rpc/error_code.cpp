#include "godwit/rpc/error_code.hpp"

#include <algorithm>
#include <stdexcept>

#include "godwit/json/writer.hpp"

namespace godwit::inline v0::rpc {

namespace {

Error make(ErrorKind kind, std::int64_t code, std::string detail) {
  std::string message(to_string(kind));
  if (!detail.empty()) message += ": " + detail;
  return Error{.code = code, .message = std::move(message), .data = {}};
}

/// Whatever the case: the specification writes "Invalid Request".
bool begins_with(std::string_view text, std::string_view kind) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= kind.size() &&
         std::equal(kind.begin(), kind.end(), text.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

/// Many servers send the kind as the message, or begin with it: it is said once.
std::string_view after_kind(std::string_view message, ErrorKind kind) {
  if (!begins_with(message, to_string(kind))) return message;
  const std::string_view rest = message.substr(to_string(kind).size());
  if (rest.empty()) return rest;
  return rest.starts_with(": ") ? rest.substr(2) : message;
}

/// In what way a call ended on this side; empty if it did not.
std::string_view ending(Cause cause) noexcept {
  switch (cause) {
    case Cause::timeout:
      return "timeout";
    case Cause::cancelled:
      return "cancelled";
    case Cause::connection_closed:
      return "connection lost";
    case Cause::not_connected:
      return "not connected";
    case Cause::busy:
      return "busy";
    case Cause::not_authorized:
      return "not authorized";
    case Cause::carrier:
      return "transport error";
    case Cause::in_process:
      return "error";
    case Cause::unspecified:
    case Cause::peer:
      break;
  }
  return {};
}

}  // namespace

ErrorKind classify(std::int64_t code) noexcept {
  switch (code) {
    case code::parse_error:
      return ErrorKind::parse_error;
    case code::invalid_request:
      return ErrorKind::invalid_request;
    case code::method_not_found:
      return ErrorKind::method_not_found;
    case code::invalid_params:
      return ErrorKind::invalid_params;
    default:
      return ErrorKind::internal_error;
  }
}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::parse_error:
      return "Parse error";
    case ErrorKind::invalid_request:
      return "Invalid request";
    case ErrorKind::method_not_found:
      return "Method not found";
    case ErrorKind::invalid_params:
      return "Invalid params";
    case ErrorKind::internal_error:
      return "Internal error";
  }
  return "Internal error";
}

bool is_client_fault(std::int64_t code) noexcept {
  return classify(code) != ErrorKind::internal_error;
}

std::string explain(const Error& error) {
  if (const std::string_view how = ending(error.cause); !how.empty()) {
    return std::string(how) + ": " + error.message;
  }
  const ErrorKind kind = classify(error.code);
  std::string_view message = error.message;
  std::string text;
  if (kind != ErrorKind::internal_error || error.code == code::internal_error) {
    text = is_client_fault(error.code)  ? "client error: "
           : error.cause == Cause::peer ? "server error: "
                                        : "";
    text += to_string(kind);
    message = after_kind(message, kind);
  } else {
    const bool reserved = error.code >= code::reserved_first && error.code <= code::reserved_last;
    text = reserved ? "server error" : "application error";
  }
  text.append(" (").append(std::to_string(error.code)).append(")");
  if (!message.empty()) text.append(": ").append(message);
  return text;
}

Error parse_error(std::string detail) {
  return make(ErrorKind::parse_error, code::parse_error, std::move(detail));
}
Error invalid_request(std::string detail) {
  return make(ErrorKind::invalid_request, code::invalid_request, std::move(detail));
}
Error method_not_found(std::string_view method) {
  return make(ErrorKind::method_not_found, code::method_not_found,
              "there is no method " + json::quote(method.substr(0, 200)));
}
Error invalid_params(std::string detail) {
  return make(ErrorKind::invalid_params, code::invalid_params, std::move(detail));
}
Error internal_error(std::string detail) {
  return make(ErrorKind::internal_error, code::internal_error, std::move(detail));
}

Error server_error(ServerErrorCode code, std::string message) {
  return Error{.code = code.value(), .message = std::move(message), .data = {}};
}

Error connection_closed(std::string message) {
  return Error{.code = code::connection_closed,
               .message = std::move(message),
               .cause = Cause::connection_closed};
}

Error application_error(std::int64_t code, std::string message) {
  if (code >= code::reserved_first && code <= code::reserved_last) {
    throw std::invalid_argument("godwit: " + std::to_string(code) +
                                " is reserved by JSON-RPC; an application picks its codes outside "
                                "-32768..-32000");
  }
  return Error{.code = code, .message = std::move(message), .data = {}};
}

}  // namespace godwit::inline v0::rpc
