// Error: why something did not work, in a form that can cross the wire as a JSON-RPC error object.
// A plain value; the sentence is written for the person who reads it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct Error {
  /// JSON-RPC code. The default is "internal error": whoever knows better says so.
  std::int64_t code = -32603;
  /// What was wrong, where, what was expected, what to do.
  std::string message{};
  /// JSON text of the `data` member; empty means there is none.
  std::string data{};

  bool operator==(const Error&) const = default;
};

/// An internal error with this sentence, the commonest kind below the protocol.
inline Error error(std::string message) { return Error{.message = std::move(message)}; }

}  // namespace godwit::inline v0
