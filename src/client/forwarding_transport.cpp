#include "godwit/client/forwarding_transport.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/id.hpp"
#include "godwit/rpc/message.hpp"
#include "mcp/era/eras.hpp"

namespace godwit::inline v0 {

namespace {

/// Before the number of a forwarded request, in the id that it has on the connection. The requests
/// of the Peer have numbers or UUIDs.
constexpr std::string_view prefix = "forwarded-";

std::string name_of(std::uint64_t number) { return std::string(prefix) + std::to_string(number); }
std::string quoted_name(std::uint64_t number) { return '"' + name_of(number) + '"'; }

/// The number in such an id; nothing if it is another.
std::optional<std::uint64_t> number_of(std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
std::optional<std::uint64_t> number_of(json::View id) {
  const auto text = id.as_string();
  return text ? number_of(*text) : std::nullopt;
}

/// A piece of a text, and what stands there instead.
struct Change {
  std::string_view piece{};
  std::string_view with{};
};

/// The text with these changes. A line break between two tokens is the end of a message on some
/// carriers, so it becomes a space.
std::string changed(std::string_view text, std::array<Change, 3> changes) {
  std::ranges::sort(changes, {}, [](const Change& each) { return each.piece.data(); });
  std::string out;
  const char* at = text.data();
  for (const Change& each : changes) {
    if (each.piece.empty()) continue;
    out.append(at, each.piece.data());
    out += each.with;
    at = each.piece.data() + each.piece.size();
  }
  out.append(at, text.data() + text.size());
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

}  // namespace

/// Shared because each of several requests is told of an end, also after one that destroyed the
/// transport.
struct ForwardingTransport::State final : rpc::Receiver, std::enable_shared_from_this<State> {
  struct Forwarded {
    rpc::Id id{};
    std::string token{};  // as JSON; empty if it has none
    /// Shared, because one that is on the stack may end the request.
    std::shared_ptr<ForwardCallbacks> callbacks{};
  };

  State(std::unique_ptr<rpc::Transport> transport, ForwardOptions options_)
      : inner(std::move(transport)),
        options(std::move(options_)),
        parse_options(json::ParseOptions::from(options.limits)) {}

  // Out.

  void send(std::string_view message) {
    std::string& out = inner->output();
    const std::size_t begin = out.size();
    out += message;
    inner->finish({.begin = begin});
  }

  std::optional<Error> refusal(std::string_view text) const {
    if (closed) return rpc::connection_closed("the connection is closed; nothing was sent");
    if (text.size() > options.limits.message_bytes_out) {
      return rpc::invalid_request("the message has " + std::to_string(text.size()) +
                                  " bytes, more than Limits::message_bytes_out (" +
                                  std::to_string(options.limits.message_bytes_out) + ")");
    }
    return std::nullopt;
  }

  Result<std::uint64_t> forward(std::string_view text, ForwardCallbacks callbacks) {
    if (auto error = refusal(text)) return *std::move(error);
    if (table.size() >= options.limits.pending_calls) {
      return Error{.code = rpc::code::busy,
                   .message = std::to_string(table.size()) +
                              " requests are under way already (Limits::pending_calls)",
                   .cause = Cause::busy};
    }
    json::Document document;
    const auto parsed = document.parse(text, parse_options);
    if (!parsed) return rpc::parse_error(parsed.error().message);
    const json::View params = parsed->find("params");
    const json::View meta = params.find("_meta");
    // Of a name that stands there twice the server could take the other one.
    if (parsed->duplicate_key() || params.duplicate_key() || meta.duplicate_key()) {
      return rpc::invalid_request("a member of the request, its params or its _meta occurs twice");
    }
    const json::View id = parsed->find("id");
    auto read = id ? rpc::Id::from(id) : std::nullopt;
    if (!parsed->is_object() || !parsed->find("method").as_string() || !read || read->is_null()) {
      return rpc::invalid_request("only a request can be forwarded: an object with method and id");
    }
    const json::View token = meta.find("progressToken");
    const std::uint64_t number = last + 1;
    const std::string name = quoted_name(number);
    const std::string message = changed(
        parsed->source(),
        {Change{id.source(), name}, token ? Change{token.source(), name} : Change{}, Change{}});
    Forwarded entry{.id = *std::move(read),
                    .token = std::string(token ? token.source() : std::string_view()),
                    .callbacks = std::make_shared<ForwardCallbacks>(std::move(callbacks))};
    table.emplace(number, std::move(entry));
    last = number;
    try {
      send(message);
    } catch (...) {
      table.erase(number);
      throw;
    }
    return number;
  }

  Result<void> notify(std::string_view text) {
    if (auto error = refusal(text)) return *std::move(error);
    json::Document document;
    const auto parsed = document.parse(text, parse_options);
    if (!parsed) return rpc::parse_error(parsed.error().message);
    if (!parsed->is_object() || !parsed->find("method").as_string() || parsed->find("id") ||
        parsed->duplicate_key()) {
      return rpc::invalid_request("this is no notification: an object with method and without id");
    }
    send(changed(parsed->source(), {}));
    return {};
  }

  bool cancel(std::uint64_t number, std::string_view notification) {
    if (table.erase(number) == 0) return false;
    if (closed) return true;
    const std::string name = quoted_name(number);
    json::Document document;
    const auto parsed = document.parse(notification, parse_options);
    const json::View params = parsed ? parsed->find("params") : json::View();
    const json::View id = params.find("requestId");
    if (id && !parsed->duplicate_key() && !params.duplicate_key() && !refusal(notification)) {
      send(changed(parsed->source(), {Change{id.source(), name}, Change{}, Change{}}));
    } else {
      send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + name +
           "}}");
    }
    return true;
  }

  // In.

  void on_message(std::string_view message, std::size_t spare) override {
    if (last == 0) return receiver->on_message(message, spare);
    json::Document document;
    const auto parsed = document.parse(message, parse_options);
    if (!parsed) return receiver->on_message(message, spare);  // which says what is wrong with it
    on_parsed(*parsed);
  }

  void on_parsed(json::View message) override {
    const auto self = shared_from_this();
    if (last == 0) return receiver->on_parsed(message);
    if (!message.is_array()) {
      if (!take(message) && receiver) receiver->on_parsed(message);
      return;
    }
    const bool ours = std::ranges::any_of(
        message.items(), [](json::View each) { return number_of(each.find("id")).has_value(); });
    if (!ours) return receiver->on_parsed(message);
    for (const json::View each : message.items()) {
      if (!take(each) && receiver) receiver->on_message(each.source(), 0);
    }
  }

  /// Hands on what belongs to a forwarded request, also to one that is over.
  bool take(json::View message) {
    if (!message.find("method")) {
      const json::View id = message.find("id");
      const auto number = number_of(id);
      if (!number) return false;
      const auto found = table.find(*number);
      if (found == table.end()) return true;
      const std::string text = changed(
          message.source(), {Change{id.source(), found->second.id.text()}, Change{}, Change{}});
      const auto entry = table.extract(found);
      run(entry.mapped().callbacks->on_response, text);
      return true;
    }
    if (message.find("id")) return false;  // a request of the server
    const json::View params = message.find("params");
    const json::View token = params.find("progressToken");
    const json::View request = params.find("requestId");
    const json::View subscription = mcp::subscription_of(params);
    std::optional<std::uint64_t> number = number_of(token);
    if (!number) number = number_of(request);
    if (!number) number = number_of(subscription);
    if (!number) return false;
    const auto found = table.find(*number);
    if (found == table.end()) return true;
    const std::string id = found->second.id.text();
    const auto change = [&](json::View from, std::string_view with) {
      return number_of(from) == number ? Change{from.source(), with} : Change{};
    };
    const std::string text = changed(
        message.source(),
        {change(token, found->second.token), change(request, id), change(subscription, id)});
    const std::shared_ptr<ForwardCallbacks> callbacks = found->second.callbacks;
    run(callbacks->on_notification, text);
    return true;
  }

  void on_unreadable(const Error& error) override { receiver->on_unreadable(error); }

  void on_failure(const rpc::Id& id, const Error& error) override {
    const auto self = shared_from_this();
    const auto text = id.string();
    const auto number = text ? number_of(*text) : std::nullopt;
    if (!number) return receiver->on_failure(id, error);
    const auto entry = table.extract(*number);
    if (!entry.empty()) fail(entry.mapped(), error);
  }

  void on_held(const rpc::Id& id, bool held) override { receiver->on_held(id, held); }

  void on_close(const Error& reason) override {
    const auto self = shared_from_this();
    const Error why = or_out_of_memory(
        [&] { return rpc::connection_closed("the connection is closed (" + reason.message + ")"); },
        Cause::connection_closed, rpc::code::connection_closed);
    closed = true;
    const auto all = std::exchange(table, {});
    for (const auto& [number, entry] : all) fail(entry, why);
    if (rpc::Receiver* const to = std::exchange(receiver, nullptr)) to->on_close(reason);
  }

  void fail(const Forwarded& entry, const Error& why) noexcept {
    std::string text;
    try {
      text = rpc::serialize(rpc::make_error(entry.id, why));
    } catch (...) {
    }
    constexpr std::string_view without_memory =
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"out of memory"}})";
    run(entry.callbacks->on_response, text.empty() ? without_memory : std::string_view(text));
  }

  /// What a callback throws goes to the log.
  void run(Function<void(std::string_view)>& callback, std::string_view text) noexcept {
    try {
      if (callback) callback(text);
    } catch (...) {
      options.log.caught("the callback of a forwarded request threw");
    }
  }

  std::unique_ptr<rpc::Transport> inner;
  ForwardOptions options;
  json::ParseOptions parse_options;
  rpc::Receiver* receiver = nullptr;
  std::unordered_map<std::uint64_t, Forwarded> table;
  std::uint64_t last = 0;  // number
  bool closed = false;
};

ForwardingTransport::ForwardingTransport(std::unique_ptr<rpc::Transport> inner,
                                         ForwardOptions options)
    : state_(std::make_shared<State>(std::move(inner), std::move(options))) {}

ForwardingTransport::~ForwardingTransport() {
  state_->receiver = nullptr;
  state_->closed = true;
  state_->table.clear();
  state_->inner.reset();
}

Result<std::uint64_t> ForwardingTransport::forward(std::string_view request,
                                                   ForwardCallbacks callbacks) {
  return state_->forward(request, std::move(callbacks));
}
Result<void> ForwardingTransport::notify(std::string_view notification) {
  return state_->notify(notification);
}
bool ForwardingTransport::cancel(std::uint64_t number, std::string_view notification) {
  return state_->cancel(number, notification);
}
std::size_t ForwardingTransport::forwarded() const noexcept { return state_->table.size(); }

std::string& ForwardingTransport::output() { return state_->inner->output(); }
void ForwardingTransport::finish(const rpc::Outbound& message) { state_->inner->finish(message); }
void ForwardingTransport::flush() { state_->inner->flush(); }
bool ForwardingTransport::refuse(const Error& why) { return state_->inner->refuse(why); }
bool ForwardingTransport::has_fields() const noexcept { return state_->inner->has_fields(); }
void ForwardingTransport::unanswered(rpc::Route route) { state_->inner->unanswered(route); }
bool ForwardingTransport::give_up(rpc::Route route) noexcept {
  return state_->inner->give_up(route);
}
void ForwardingTransport::let_go(rpc::Route route) { state_->inner->let_go(route); }
std::shared_ptr<const rpc::Facts> ForwardingTransport::facts() const {
  return state_->inner->facts();
}
void ForwardingTransport::start(rpc::Receiver& receiver) {
  state_->receiver = &receiver;
  state_->inner->start(*state_);
}
void ForwardingTransport::when_flushed(Function<void()> done) {
  state_->inner->when_flushed(std::move(done));
}
void ForwardingTransport::close() { state_->inner->close(); }

}  // namespace godwit::inline v0
