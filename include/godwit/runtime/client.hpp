// Client: a connection to a server for programs that have no event loop and want none.
//
//   auto client = godwit::Client::spawn({"server"});
//   auto day = client->call<Forecast>("forecast", Weather{.city = "Oslo"});   // Result<Forecast>
//
// Owner: the program. A Client has one Loop and one thread, which its destructor joins; a server
// program that it started never outlives it. Threads: every method may be called from any thread;
// callbacks run on the client's own, where a call that waits is refused with an error instead of
// waiting forever. A Client must not be destroyed while another thread waits in it.
#pragma once

#include <functional>
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
#include "godwit/client/client_session.hpp"
#include "godwit/client/listen.hpp"
#include "godwit/client/tool_outcome.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/process.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

/// Makes a transport on this loop, on the loop's thread. Called again if the client may restart.
using TransportFactory = std::function<Result<std::unique_ptr<rpc::Transport>>(Loop& loop)>;

class GODWIT_API Client {
 public:
  /// Starts a program and speaks over its stdin and stdout. No shell is involved. Gives an error if
  /// the program cannot be started, or is no server that we can talk to. A program that ends when
  /// it is asked whether it is stateless is started once more and spoken to as an older server.
  static Result<Client> spawn(std::vector<std::string> argv, ClientOptions options = {});
  /// The same with a say in its environment and directory.
  static Result<Client> spawn(ProcessOptions process, ClientOptions options = {});
  /// "http://127.0.0.1:8080/mcp", "ws://127.0.0.1:8080/mcp" (both also with TLS, as https and wss),
  /// "tcp://127.0.0.1:7000" or "unix:///run/server.sock". Over HTTP a session that the server has
  /// ended is begun anew by the next call.
  static Result<Client> connect(std::string_view url, ClientOptions options = {});
  /// Over a transport of your own.
  static Result<Client> connect(TransportFactory factory, ClientOptions options = {});

  /// Ends the connection: calls that wait fail, a child is asked to stop and soon killed.
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // The server, as it described itself when it was last connected to.

  Implementation server_info() const;
  ServerCapabilities server_capabilities() const;
  std::string instructions() const;
  std::string revision() const;
  Verdict verdict() const;

  // Calls that wait for their outcome.

  /// `in` is anything whose JSON is an object; for Out see outcome_as().
  template <class Out = ToolResult, class In>
  Result<Out> call(std::string_view tool, const In& in, RequestOptions options = {}) {
    Result<ToolResult> result = send_tool(tool, json::encode(in), std::move(options));
    if (!result) return std::move(result).error();
    return outcome_as<Out>(tool, *std::move(result));
  }
  Result<ToolResult> call_tool(std::string_view tool, RawJson arguments = {},
                               RequestOptions options = {});
  Result<std::vector<Tool>> list_tools(RequestOptions options = {});
  Result<std::vector<Resource>> list_resources(RequestOptions options = {});
  Result<std::vector<ResourceTemplate>> list_resource_templates(RequestOptions options = {});
  Result<std::vector<Prompt>> list_prompts(RequestOptions options = {});
  Result<ReadResult> read(std::string_view uri, RequestOptions options = {});
  Result<PromptResult> prompt(std::string_view name,
                              std::map<std::string, std::string> arguments = {},
                              RequestOptions options = {});
  Result<Completion> complete(CompletionReference reference, CompletionArgument argument,
                              CompletionContext context = {}, RequestOptions options = {});
  Result<void> ping(RequestOptions options = {});
  Result<void> set_log_level(LoggingLevel level);
  Result<void> set_roots(std::vector<Root> roots);
  Result<RawJson> request(std::string_view method, RawJson params = {},
                          RequestOptions options = {});
  Result<void> notify(std::string_view method, RawJson params = {});
  /// Waits until the server has agreed. A client that may restart (over HTTP each does) takes it up
  /// again by itself when the connection or the session is lost, and then calls back once for
  /// everything it listens for: changes may have been missed. (A stateful server over HTTP that
  /// cannot resume its stream may lose some while that is cut; the log says so.)
  Result<Listen> listen(SubscriptionFilter filter, ListenCallbacks callbacks);

  // Calls that do not wait: `done` gets the outcome on the client's thread, exactly once.

  template <class Out = ToolResult, class In>
  void call_async(std::string_view tool, const In& in,
                  std::type_identity_t<Function<void(Result<Out>)>> done,
                  RequestOptions options = {}) {
    send_tool_async(
        tool, json::encode(in),
        [name = std::string(tool), done = std::move(done)](Result<ToolResult> result) mutable {
          if (!result) return done(std::move(result).error());
          done(or_out_of_memory([&] { return outcome_as<Out>(name, *std::move(result)); }));
        },
        std::move(options));
  }
  void call_tool_async(std::string_view tool, RawJson arguments,
                       Function<void(Result<ToolResult>)> done, RequestOptions options = {});
  /// Runs work on the client's thread with everything a session can do; it gets an error if there
  /// is no connection (and there will be none). The session is good during the call only.
  void with_session(Function<void(Result<ClientSession*>)> work);

 private:
  struct State;
  explicit Client(std::shared_ptr<State> state) noexcept;
  static Result<Client> open(std::shared_ptr<State> state);
  /// For connections that can be made a second time, if the server ends the first at the probe.
  static Result<Client> open_again(std::shared_ptr<State> state);
  static Result<Client> connect_http(std::string_view url, ClientOptions options);
  /// For arguments that are JSON for certain.
  Result<ToolResult> send_tool(std::string_view tool, std::string arguments,
                               RequestOptions options);
  void send_tool_async(std::string_view tool, std::string arguments,
                       Function<void(Result<ToolResult>)> done, RequestOptions options);

  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
