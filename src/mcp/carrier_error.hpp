// Errors that a carrier made of what came instead of an answer, and how they are told from those
// that a server sent: who begins a session wants to know whether there was a server at all.
#pragma once

#include <optional>
#include <string>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0::mcp {

struct CarrierFailure {
  /// Of HTTP; 0 if there was no answer at all.
  int status = 0;
  /// The session that the request belonged to is over, so the request was not looked at.
  bool session_ended = false;
  bool operator==(const CarrierFailure&) const = default;
};

GODWIT_API Error carrier_error(std::string message, CarrierFailure failure = {});
/// Nothing if the error is no such one.
GODWIT_API std::optional<CarrierFailure> carrier_failure(const Error& error);

}  // namespace godwit::inline v0::mcp
