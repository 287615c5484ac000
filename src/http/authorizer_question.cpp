#include "authorizer_question.hpp"

#include <new>
#include <string>

#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

bool begins_with(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && same_name(name.substr(0, prefix.size()), prefix);
}

/// Those that say how the bytes of a request or its response are to be read, or through whom they
/// go. Nobody who authorizes a request has anything to say about that.
bool is_of_http(std::string_view name) {
  for (const std::string_view prefix : {"Content-", "Accept", "Proxy-", "Sec-"}) {
    if (begins_with(name, prefix)) return true;
  }
  for (const std::string_view one :
       {"Host", "Connection", "Keep-Alive", "Transfer-Encoding", "TE", "Trailer", "Upgrade",
        "HTTP2-Settings", "Expect", "Range", "Cache-Control", "Last-Event-ID"}) {
    if (same_name(name, one)) return true;
  }
  return false;
}

}  // namespace

Error authorizer_threw() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (...) {
    return or_out_of_memory([] { return error("the authorizer of the request threw"); });
  }
}

Error authorizer_too_slow(Duration limit) noexcept {
  return or_out_of_memory([&] {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
    return error("the authorizer did not answer within " + std::to_string(seconds) +
                 " s (Limits::authorization_time)");
  });
}

std::optional<Error> mistake_in(const Fields& given, bool (*is_reserved)(std::string_view name)) {
  for (const auto& [name, value] : given) {
    if (is_of_http(name) || (is_reserved && is_reserved(name))) {
      return error("the authorizer gave the header field " + shown(name) +
                   ", which belongs to the protocol and is not an authorizer's to set");
    }
  }
  return std::nullopt;
}

Fields kept(const FieldsView& fields) {
  Fields out;
  for (const Field& field : fields) {
    if (is_token(field.name) && is_field_value(field.value)) out.add(field.name, field.value);
  }
  return out;
}

}  // namespace godwit::inline v0::http
