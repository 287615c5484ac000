// ClientSession: the client's side of the Model Context Protocol on a Peer that somebody else
// hosts. It moves no bytes and has no thread. Whoever hosts the connection gives the session's
// router and options to the Peer and then starts it:
//
//   ClientSession session(options);
//   Connection connection(loop, std::move(transport), session.router(), session.peer_options());
//   session.start(connection.peer(), [&](Result<void> ready) {
//     session.call<Forecast>("forecast", Weather{.city = "Oslo"}, [](Result<Forecast> day) { … });
//   });
//
// Owner: the program; the session may die before or after the peer. Once it is destroyed no
// callback of it runs any more; calls that wait then get their outcome from the destructor.
// Threads: the one of the peer, for everything.
//
// Each call has exactly one outcome. It comes before the call returns if nothing is sent: because
// the session is not ready, the server lacks the capability, or a fresh answer is in the cache.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/client/client_options.hpp"
#include "godwit/client/listen.hpp"
#include "godwit/client/tool_outcome.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/mcp/completion.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"

namespace godwit::inline v0 {

/// One page of a list.
template <class T>
struct Page {
  std::vector<T> items{};
  /// Where the next page begins; nothing on the last one.
  std::optional<std::string> next{};

  bool operator==(const Page&) const = default;
};

/// Names a call while it waits.
struct ClientCall {
  /// 0 means that the outcome was delivered already.
  std::uint64_t number = 0;
  bool operator==(const ClientCall&) const = default;
};

class GODWIT_API ClientSession {
 public:
  template <class T>
  using Done = std::type_identity_t<Function<void(Result<T>)>>;

  explicit ClientSession(ClientOptions options = {});
  ~ClientSession();
  ClientSession(ClientSession&&) noexcept;
  ClientSession& operator=(ClientSession&&) noexcept;

  // For the host.

  /// Answers what the server asks and takes what it tells.
  std::shared_ptr<const rpc::Router> router() const;
  /// Rules and callbacks of the peer; the host adds its own `wake`, `deadline_moved` and `clock`.
  rpc::PeerOptions peer_options() const;
  /// Finds out what the server speaks and agrees on it. The peer must have been made with router()
  /// and peer_options(). Once per session; `done` gets an error that says what to do if the two
  /// have no revision in common.
  void start(rpc::Peer& peer, Function<void(Result<void>)> done);

  /// After a start that failed: whether the connection ended while the server was asked if it is
  /// stateless. Some older servers exit when they see the question; begin a new connection with
  /// Lifecycle::stateful then.
  bool ended_at_probe() const noexcept;

  // The server, once started. Untrusted: for display, not for decisions.

  bool ready() const noexcept;
  const Implementation& server_info() const noexcept;
  const ServerCapabilities& server_capabilities() const noexcept;
  const std::string& instructions() const noexcept;
  /// The revision that is spoken; empty before.
  std::string_view revision() const noexcept;
  /// What the server says it speaks.
  const std::vector<std::string>& supported_revisions() const noexcept;
  /// For ClientOptions::verdict of a later session.
  Verdict verdict() const;
  /// What this client declared.
  const ClientCapabilities& client_capabilities() const noexcept;

  // Tools.

  /// All pages. A tool that cannot be read is left out, with a warning in the log.
  ClientCall list_tools(Done<std::vector<Tool>> done, RequestOptions options = {});
  ClientCall list_tools_page(std::optional<std::string> cursor, Done<Page<Tool>> done,
                             RequestOptions options = {});
  /// `arguments` is an object, or empty for none.
  ClientCall call_tool(std::string_view name, RawJson arguments, Done<ToolResult> done,
                       RequestOptions options = {});
  /// `in` is anything whose JSON is an object; for Out see outcome_as().
  template <class Out = ToolResult, class In>
  ClientCall call(std::string_view name, const In& in, Done<Out> done,
                  RequestOptions options = {}) {
    return send_tool(
        name, std::make_shared<const std::string>(json::encode(in)),
        [tool = std::string(name), done = std::move(done)](Result<ToolResult> result) mutable {
          if (!result) return done(std::move(result).error());
          done(or_out_of_memory([&] { return outcome_as<Out>(tool, *std::move(result)); }));
        },
        std::move(options));
  }

  // Resources.

  ClientCall list_resources(Done<std::vector<Resource>> done, RequestOptions options = {});
  ClientCall list_resources_page(std::optional<std::string> cursor, Done<Page<Resource>> done,
                                 RequestOptions options = {});
  ClientCall list_resource_templates(Done<std::vector<ResourceTemplate>> done,
                                     RequestOptions options = {});
  ClientCall list_resource_templates_page(std::optional<std::string> cursor,
                                          Done<Page<ResourceTemplate>> done,
                                          RequestOptions options = {});
  ClientCall read_resource(std::string_view uri, Done<ReadResult> done,
                           RequestOptions options = {});

  // Prompts.

  ClientCall list_prompts(Done<std::vector<Prompt>> done, RequestOptions options = {});
  ClientCall list_prompts_page(std::optional<std::string> cursor, Done<Page<Prompt>> done,
                               RequestOptions options = {});
  ClientCall get_prompt(std::string_view name, const std::map<std::string, std::string>& arguments,
                        Done<PromptResult> done, RequestOptions options = {});

  /// Proposals for a value that is being typed. `context` has what was chosen before.
  ClientCall complete(const CompletionReference& reference, const CompletionArgument& argument,
                      Done<Completion> done, const CompletionContext& context = {},
                      RequestOptions options = {});

  // The rest.

  /// Hears of changes until the handle is destroyed.
  Listen listen(SubscriptionFilter filter, ListenCallbacks callbacks);
  /// Forgets answers that are kept and that this filter is about: changes may have been missed.
  void forget_answers(const SubscriptionFilter& about);
  /// From now on the server should log from this level on.
  ClientCall set_log_level(LoggingLevel level, Done<void> done);
  /// Is the server there?
  ClientCall ping(Done<void> done, RequestOptions options = {});
  /// Asks a stateless server again for what it can do; of others it gives what is known.
  ClientCall discover(Done<Verdict> done, RequestOptions options = {});
  /// Replaces ClientOptions::roots and tells a server that wants to know. The list must have been
  /// set from the start, if only to an empty one: capabilities are not declared later.
  Result<void> set_roots(std::vector<Root> roots);

  /// Any method, known or not. `params` is an object, or empty for none.
  ClientCall request(std::string_view method, RawJson params, Done<RawJson> done,
                     RequestOptions options = {});
  Result<void> notify(std::string_view method, RawJson params = {});

  /// Gives a call up: its outcome is the error, at once, and the server is told. False if it had
  /// its outcome already.
  bool cancel(ClientCall call, std::string_view reason = "cancelled");

 private:
  friend class Client;
  struct State;
  /// The arguments are JSON for certain, or empty.
  ClientCall send_tool(std::string_view name, std::shared_ptr<const std::string> arguments,
                       Done<ToolResult> done, RequestOptions options);

  std::shared_ptr<State> state_;
  std::shared_ptr<const rpc::Router> router_;
};

}  // namespace godwit::inline v0
