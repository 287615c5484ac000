// Entrance: one message of a client on its way to whoever answers it. On the stack, for one call.
// The files of it: gate.cpp (admission and the lifecycle), entrance_lists.cpp, entrance_listen.cpp
// and entrance_calls.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access.hpp"
#include "frame.hpp"
#include "godwit/base/work.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/era/eras.hpp"
#include "result.hpp"
#include "session.hpp"

namespace godwit::inline v0::detail::server {

/// The members of params that methods of the protocol know, found in one walk.
struct Parts {
  json::View meta{};
  json::View name{};
  json::View uri{};
  json::View arguments{};
  json::View cursor{};
  json::View responses{};  // to what was asked in an earlier round
  json::View state{};      // that the earlier round left
  /// Two members may have the same name; View::duplicate_key() knows.
  bool may_have_twins = false;

  explicit Parts(json::View params) noexcept {
    json::detail::NameFilter others;
    for (const auto [key, value] : params.members()) {
      godwit::detail::base::count_work(1);
      if (json::View* const part = find(key)) {
        may_have_twins |= static_cast<bool>(*part);
        *part = value;
      } else {
        may_have_twins |= others.maybe_seen(key);
      }
    }
  }

 private:
  json::View* find(std::string_view key) noexcept {
    const auto called = [&](std::string_view known, json::View& part) {
      return json::detail::same_name(key, known) ? &part : nullptr;
    };
    switch (key.size()) {
      case 3:
        return called("uri", uri);
      case 4:
        return called("name", name);
      case 5:
        return called("_meta", meta);
      case 6:
        return called("cursor", cursor);
      case 9:
        return called("arguments", arguments);
      case 12:
        return called("requestState", state);
      case 14:
        return called("inputResponses", responses);
      default:
        return nullptr;
    }
  }
};

class Entrance {
 public:
  Entrance(const mcp::Eras& eras, Session& session, rpc::detail::Call& call)
      : eras_(eras), session_(session), call_(call), parts_(call.params()) {}

  void run();

 private:
  void operate(mcp::Operation operation);

  // Helpers.

  /// False if what the header fields say contradicts the message, which has been answered then.
  bool agrees(std::optional<Error> error) {
    if (error) call_.fail(*std::move(error));
    return !error;
  }
  bool name_agrees() {
    const rpc::HeaderFields* const said = fields();
    return !said || agrees(codec().check_target(*said, request_.method, request_.params));
  }

  const mcp::Codec& codec() const { return *request_.codec; }
  /// Those that must agree with the message; null if its carrier has none.
  const rpc::HeaderFields* fields() {
    return session_.only_stateless() ? &call_.context().facts().fields : nullptr;
  }
  const Limits& limits() { return session_.server().options.limits; }
  /// What this client may count on.
  const ServerCapabilities& capabilities() {
    return codec().offered(session_.promised(), *session_.catalog()->capabilities());
  }
  void unknown_method() { call_.fail(rpc::method_not_found(request_.method)); }
  /// A notification needs no answer.
  void noted() {
    call_.begin_result().null();
    call_.end_result();
  }
  json::Writer& begin() {
    json::Writer& writer = call_.begin_result();
    codec().begin_result(writer);
    return writer;
  }
  void end(json::Writer& writer, const CacheHint* cache = nullptr) {
    write_result_end(writer, codec(), session_.server(), nullptr, cache);
    call_.end_result();
  }
  void empty() { end(begin()); }

  template <class T>
  std::optional<T> read() {
    T out{};
    json::DecodeFailure failure;
    const bool fits = request_.params ? json::read(request_.params, out, failure)
                                      : json::detail::check_required<T>(0, failure);
    if (fits) return out;
    call_.fail(rpc::detail::params_error(failure));
    return std::nullopt;
  }

  /// Text of ours around what the client sent, which was within its limits.
  static json::View made_arguments(json::Document& document, std::string_view text) {
    return document.parse(text, json::ParseOptions{.depth = 100'000, .number_chars = 0}).value();
  }

  // Who may use what.

  const rpc::Facts& facts() { return call_.context().facts(); }
  /// Why this caller may not use it, in the words of the policy, or as if it did not exist.
  std::optional<Error> refused(const AccessQuestion& question, const auto& unknown) {
    if (session_.server().policies.empty()) return std::nullopt;
    auto refusal = refusal_of(session_.server(), question);
    if (!refusal) return std::nullopt;
    if (refusal->hide) return unknown();
    return codec().wire_error(std::move(refusal->error));
  }
  template <class E, class... More>
  bool may_see(const std::shared_ptr<const E>& entry, const More&... more) {
    return entry && (session_.server().policies.empty() ||
                     !refusal_of(session_.server(), ask_about(*entry, facts(), more...)));
  }

  // The lifecycle (gate.cpp).

  void initialize();
  /// What is wrong with the lengths of what a client says about itself.
  std::optional<Error> introduction_error(const Implementation& client);
  void discover();
  void set_level();
  void cancelled();

  // Lists and completion (entrance_lists.cpp).

  void list(ListKind kind, bool offered);
  void bad_cursor();
  /// One that is made for this caller.
  void own_list(ListKind kind, std::optional<std::string_view> cursor);
  void end_own_list(ListKind kind, std::string_view entries,
                    const std::optional<std::string>& cursor);
  void complete();

  // Subscriptions (entrance_listen.cpp).

  void subscribe(bool on);
  /// Whether there is a resource or a template for it.
  bool could_exist(std::string_view uri);
  void listen();

  // Tools, prompts, resources (entrance_calls.cpp).

  void work(const std::shared_ptr<const Entry>& entry);
  /// What an earlier round left; null if it cannot be believed, which has been answered then.
  std::unique_ptr<Asks> resume(json::View responses, json::View state, const Entry& entry);
  void call_tool();
  /// For tools whose handler does not check its arguments itself.
  bool arguments_fit(const std::shared_ptr<const ToolEntry>& tool);
  void get_prompt();
  void read_resource();
  /// Something that the server was not given by name.
  void call_provider(ListKind kind, OfferKind offer, std::string_view name, const auto& unknown);

  // What the program added (gate.cpp).

  bool declares(const std::string& extension) { return request_.declares(session_, extension); }
  void custom();

  const mcp::Eras& eras_;
  Session& session_;
  rpc::detail::Call& call_;
  const Parts parts_;
  Request request_;
};

}  // namespace godwit::inline v0::detail::server
