#include "carrier_error.hpp"

#include <utility>

#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::mcp {

Error carrier_error(std::string message, CarrierFailure failure) {
  const bool lost = failure.status == 0 || failure.session_ended;
  std::string data = R"({"transport":"http","status":)" + std::to_string(failure.status) +
                     (failure.session_ended ? R"(,"session":"ended"})" : "}");
  return Error{.code = lost ? rpc::code::connection_closed : rpc::code::internal_error,
               .message = std::move(message),
               .data = std::move(data),
               .cause = failure.session_ended ? Cause::not_connected
                        : lost                ? Cause::connection_closed
                                              : Cause::carrier};
}

std::optional<CarrierFailure> carrier_failure(const Error& error) {
  // A server could write the same data.
  if (error.cause != Cause::carrier && !is_connection_closed(error)) return std::nullopt;
  if (!error.data.starts_with(R"({"transport":"http")")) return std::nullopt;
  json::Document document;
  const auto data = document.parse(error.data);
  if (!data) return std::nullopt;
  const auto status = data->find("status").as_int64();
  if (!status || *status < 0 || *status > 999) return std::nullopt;
  return CarrierFailure{.status = static_cast<int>(*status),
                        .session_ended = data->find("session").as_string() == "ended"};
}

}  // namespace godwit::inline v0::mcp
