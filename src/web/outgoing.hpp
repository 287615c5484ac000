// Outgoing: a message of a client on its way into a POST, and what the transport has to know about
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/result.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/transport.hpp"
#include "mcp/era/operation.hpp"

namespace godwit::inline v0::detail::web {

struct Outgoing {
  std::string body{};
  /// Of the requests in it, which want an answer each: one, none, or those of a batch.
  std::vector<rpc::Id> ids{};
  /// Of a request or notification; empty for an answer and for a batch.
  std::string method{};
  std::optional<mcp::Operation> operation{};
  /// The revision, if it says itself who sends it (the stateless era).
  std::string revision{};
  /// The name or address of what is asked for, where the era wants it in a header field. Nothing
  /// where whoever described the message brought such fields along.
  std::optional<std::string> name{};
  /// The fields of arguments; likewise.
  rpc::MessageFields param_fields{};
  /// It was handed over as bytes: what its answer says of tools is learned here.
  bool is_read = false;
  /// A list that is asked for from its beginning.
  bool first_page = false;
  /// The request that a notification takes back.
  std::optional<rpc::Id> cancels{};

  bool stateless() const noexcept { return !revision.empty(); }
  bool is_batch() const noexcept { return method.empty() && !ids.empty(); }
  bool is(mcp::Operation which) const noexcept { return operation == which; }
  /// Whether it does no harm if it reaches the server twice.
  bool repeatable() const noexcept {
    return method.empty() ? ids.empty() : operation && !is(mcp::Operation::call_tool);
  }
};

/// What its description says of a message of this side.
Outgoing describe_outgoing(std::string body, const rpc::Outbound& message);

/// The same for one that was handed over as bytes. The views of `message` are needed during the
/// call only.
Outgoing read_outgoing(std::string body, json::View message);

/// The id in the text of a request that is no JSON because its params are not.
std::optional<rpc::Id> id_in_broken(std::string_view text);

}  // namespace godwit::inline v0::detail::web
