// Messages of JSON-RPC 2.0 as values: to build, to read, to pass on. A Peer works on views instead
// and never makes these on its own; they are for programs that want to hold a message in their
// hand.
//
//   auto parsed = rpc::parse_message(text);
//   if (parsed)
//     if (auto* request = std::get_if<rpc::Request>(parsed->single())) …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/rules.hpp"

namespace godwit::inline v0::rpc {

/// A call that wants an answer. `extra` keeps members that JSON-RPC does not know.
struct Request {
  Id id{};
  std::string method{};
  std::optional<json::Value> params{};
  json::Object extra{};

  bool operator==(const Request&) const = default;
};

/// A call that is never answered.
struct Notification {
  std::string method{};
  std::optional<json::Value> params{};
  json::Object extra{};

  bool operator==(const Notification&) const = default;
};

/// The answer to a request that went well. Any JSON value is a result.
struct Response {
  Id id{};
  json::Value result{};
  json::Object extra{};

  bool operator==(const Response&) const = default;
};

/// The answer to a request that did not. Without an id where the request could not be read and the
/// rules say so.
struct ErrorResponse {
  std::optional<Id> id{};
  Error error{};
  json::Object extra{};

  bool operator==(const ErrorResponse&) const = default;
};

using Message = std::variant<Request, Notification, Response, ErrorResponse>;

/// What a client may send to a server that never calls back, and what such a server may send.
using ClientMessage = std::variant<Request, Notification>;
using ServerMessage = std::variant<Notification, Response, ErrorResponse>;

/// What a text is before it is read in full, for those who carry it: something that wants to be
/// done (a request or notification), an answer, or neither. An answer whose id is there twice is
/// neither, since two readers would see two answers.
enum class Role : std::uint8_t { none, call, answer };
GODWIT_API Role role_of(json::View message);

/// The message if it may travel that way; otherwise invalid_request with the reason.
GODWIT_API Result<ClientMessage> as_client_message(Message message);
GODWIT_API Result<ServerMessage> as_server_message(Message message);

/// What one text held: a message, or a batch of messages some of which may be invalid.
class GODWIT_API Parsed {
 public:
  using Entry = Result<Message>;

  explicit Parsed(Message message) : content_(std::move(message)) {}
  explicit Parsed(std::vector<Entry> batch) : content_(std::move(batch)) {}

  bool is_batch() const noexcept { return content_.index() == 1; }
  /// The message, or nullptr for a batch.
  const Message* single() const noexcept { return std::get_if<0>(&content_); }
  Message* single() noexcept { return std::get_if<0>(&content_); }
  /// The entries in order, or nullptr for a single message.
  const std::vector<Entry>* batch() const noexcept { return std::get_if<1>(&content_); }

 private:
  std::variant<Message, std::vector<Entry>> content_;
};

/// Reads one message or one batch. Errors are parse_error and invalid_request, with the place or
/// the member that is wrong.
GODWIT_API Result<Parsed> parse_message(std::string_view text, const Rules& rules = {},
                                        const Limits& limits = {});

GODWIT_API std::string serialize(const Message& message);
GODWIT_API std::string serialize(const std::vector<Message>& batch);

GODWIT_API Request make_request(Id id, std::string method,
                                std::optional<json::Value> params = std::nullopt);
GODWIT_API Notification make_notification(std::string method,
                                          std::optional<json::Value> params = std::nullopt);
GODWIT_API Response make_response(Id id, json::Value result);
GODWIT_API ErrorResponse make_error(std::optional<Id> id, Error error);

/// Params or a result from any type that has a JSON form.
template <class T>
json::Value to_value(const T& value) {
  return json::parse(json::encode(value), {.depth = 100'000, .number_chars = 0}).value();
}

}  // namespace godwit::inline v0::rpc
