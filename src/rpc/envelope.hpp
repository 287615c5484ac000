// The envelope of one message, read in place: which kind it is and where its parts are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/rules.hpp"

namespace godwit::inline v0::rpc::detail {

struct Envelope {
  enum class Kind { request, notification, response, error_response, invalid };

  Kind kind = Kind::invalid;
  json::View id{};  // absent if there is none, or none that could be used
  std::string_view method{};
  json::View params{};
  json::View result{};
  json::View error{};
  bool has_unknown_members = false;
  /// An answer, good or bad: never answered itself, or two peers could argue forever.
  bool is_answer = false;
  /// Invalid for nothing but a null result beside the error, as JSON-RPC 1.0 had it.
  bool is_error_with_null = false;
  /// Why it is invalid, for the peer.
  std::string problem{};
};

/// Leaves the names inside params to ambiguous_params().
Envelope read_envelope(json::View message, const Rules& rules);

/// The names inside params and its _meta must be unique: two readers could otherwise see two
/// messages. Says which one is not.
std::optional<std::string> ambiguous_params(json::View params);

/// The error object of a response. `problem` says what is wrong with it if it is not one.
std::optional<Error> read_error(json::View view, std::string& problem);

}  // namespace godwit::inline v0::rpc::detail
