// Server: what a program offers: tools, resources, prompts. It owns no connection and no thread;
// any number of connections, in any revision of the protocol, are served from one Server.
//
//   godwit::Server server{{.name = "weather", .version = "1.0.0"}};
//   server.tool("forecast", "Forecast for a city", [](Weather in) { return Forecast{…}; });
//   return godwit::serve(server, argc, argv);
//
// Handlers take one struct (the struct is the schema), and beside it a Context& if they want; they
// return text, content, a struct, or a Result of these. Plain ones run on the connection's thread,
// those marked blocking() on the executor, and one that takes a Reply<T> answers when it likes.
// Handlers of several connections may run at the same time.
//
// Threads: everything here may be called from any thread at any time, also while connections are
// served; clients are told of the change. Only use() and restrict() must come before the first
// connection.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/mcp/change_bus.hpp"
#include "godwit/mcp/completion.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/ledger.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/sealer.hpp"
#include "godwit/mcp/service.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"
#include "godwit/rpc/tap.hpp"
#include "godwit/server/access_policy.hpp"
#include "godwit/server/context.hpp"
#include "godwit/server/handler.hpp"
#include "godwit/server/provider.hpp"

namespace godwit::inline v0 {

/// May others than the one who asked be given the same answer?
enum class CacheScope : std::uint8_t { private_, public_ };

/// How long a client may keep an answer. Sent where the revision has a word for it.
struct CacheHint {
  std::chrono::milliseconds ttl{0};
  CacheScope scope = CacheScope::private_;
};

struct ServerOptions {
  std::string name{};
  std::string version{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> websiteUrl{};
  std::vector<Icon> icons{};
  /// For the model: how to use this server.
  std::string instructions{};

  /// Entries of a list per page; 0 is all on one.
  std::size_t page_size = 0;
  /// Of the lists and of server/discover.
  CacheHint cache{};
  /// Offer log lines of handlers to clients.
  bool logging = true;
  /// Offer to tell clients when a resource changes (Server::resource_updated).
  bool subscriptions = true;
  /// Check structured results against the output schema of their tool: always in debug builds.
  bool check_output = false;

  /// Where blocking handlers run; must outlive the server. Registering one without it throws.
  Executor* executor = nullptr;
  /// Seals what a handler asked and did between two rounds of a stateless request. Without one such
  /// a handler fails; godwit::serve() gives one with a random key of the process, and
  /// WebServer::listen() refuses to begin.
  std::shared_ptr<Sealer> sealer{};
  /// Remembers effects of Context::once; in memory if not given.
  std::shared_ptr<Ledger> ledger{};
  /// How long a call waits for the ledger, and for another copy of the same request that is doing
  /// the same effect. It fails then, as it does at once with zero.
  Duration once_wait = std::chrono::seconds(10);
  /// By which it hears of changes that its clients are told of: of lists and of resources. Servers
  /// with the same bus hear of each other's; one of its own if not given.
  std::shared_ptr<ChangeBus> changes{};

  /// How long a person or a model may take to answer a handler.
  Duration ask_timeout = std::chrono::minutes(10);
  /// How old the sealed state of a request may be when it comes back.
  std::chrono::seconds state_lifetime = std::chrono::minutes(15);
  /// Rounds of questions of one request, and bytes of what is kept between them: beyond that a
  /// handler asks in circles.
  unsigned ask_rounds = 10;
  std::size_t state_bytes = 256u << 10;

  Limits limits{};
  /// Warnings and errors go to stderr if not given; `Log()` says nothing.
  Log log = Log::to_stderr(LogLevel::warning);
  /// Sees every message of every connection, both ways, on the connection's thread.
  rpc::Tap tap{};
  /// Must outlive the server.
  const Clock* clock = &steady_clock();
  /// Seconds since 1970, for the age of sealed state; the system's if not given.
  std::function<std::int64_t()> unix_time{};
  std::map<std::string, json::Value> experimental{};
};

struct ToolOptions {
  std::optional<std::string> title{};
  ToolAnnotations annotations{};
  std::vector<Icon> icons{};
  json::Object meta{};
  /// For handlers whose arguments or results are JSON of their own kind (json::View, json::Value,
  /// RawJson): their schemas. Replaces the one made from the type.
  RawJson input_schema{};
  RawJson output_schema{};
  /// Check the arguments before the handler runs. A struct checks its own in any case.
  bool check_arguments = true;
  /// Answers for a blocking or asynchronous handler that takes longer, and stops its token. Time
  /// spent waiting for answers of the client does not count.
  std::optional<Duration> timeout{};
  /// Calls that may run at once; one more is refused as busy. 0 is any number.
  std::size_t concurrency = 0;
};

struct PromptOptions {
  std::optional<std::string> title{};
  std::vector<Icon> icons{};
  json::Object meta{};
  /// For handlers that take std::map<std::string, std::string>: the arguments to list.
  std::vector<PromptArgument> arguments{};
};

struct ResourceOptions {
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> mimeType{};
  std::optional<std::int64_t> size{};
  std::vector<Icon> icons{};
  std::optional<Annotations> annotations{};
  json::Object meta{};
  CacheHint cache{};
};

/// What is known when a value is to be proposed.
struct CompletionQuery {
  std::string argument{};
  std::string value{};
  /// Values chosen before, by argument.
  std::map<std::string, std::string> context{};
};
using Completer = std::function<Completion(const CompletionQuery&)>;

/// An extension of the protocol, offered under its id ("com.example/feature"). What it adds is used
/// only with clients that declare it. `_meta` needs no hook: handlers read it from their Context
/// and put their own into results.
struct Extension {
  std::string id{};
  /// Told to clients beside the id.
  json::Object settings{};
  /// Those of Server::method() that belong to it. A client without the extension is told that it
  /// lacks it, or where that cannot be said, that there is no such method.
  std::vector<std::string> methods{};
  /// Further values of ToolResult::resultType.
  std::vector<std::string> result_types{};
  /// Further members of a listen's filter: lists of texts, served by Server::tell_listeners().
  std::vector<std::string> listen_filters{};
};

class GODWIT_API Server final : public Service {
 public:
  explicit Server(ServerOptions options);
  ~Server() override;
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  // Offering. Something of the same name is replaced. Throws std::invalid_argument for what cannot
  // be offered: a bad name, schema or template, a struct that does not fit its template, a
  // completer for what is not there, or a blocking handler without an executor.

  template <class F>
  Server& tool(std::string name, std::string about, F&& handler, ToolOptions options = {}) {
    using Traits = detail::server::HandlerTraits<F>;
    using Input = typename Traits::Input;
    using namespace json::detail;
    static_assert(std::same_as<Input, detail::server::NoInput> || Struct<Input> ||
                      Dictionary<Input> || AnyJson<Input> || AnyObject<Input>,
                  "godwit: the arguments of a tool are an object: take a plain struct, a map, "
                  "json::Value, json::View or RawJson");
    static_assert(detail::server::tool_may_return<typename Traits::Output>(),
                  "godwit: a tool returns text, content, a ToolResult or a value with a JSON form; "
                  "messages are what a prompt returns, resource contents what a resource does");
    Tool tool;
    tool.name = std::move(name);
    tool.description = std::move(about);
    if (!options.input_schema.text.empty()) {
      tool.inputSchema = std::move(options.input_schema);
    } else if constexpr (Struct<Input> && !std::same_as<Input, detail::server::NoInput>) {
      tool.inputSchema.text = json::schema_of<Input>().dump();
    } else {
      tool.inputSchema.text = R"({"type":"object"})";
    }
    if (!options.output_schema.text.empty()) {
      tool.outputSchema = std::move(options.output_schema);
    } else if (std::string schema = detail::server::output_schema<typename Traits::Output>();
               !schema.empty()) {
      tool.outputSchema = RawJson{std::move(schema)};
    }
    constexpr bool checks_itself = Struct<Input> || std::same_as<Input, detail::server::NoInput>;
    add_tool(std::move(tool), make_handler(std::forward<F>(handler)), std::move(options),
             checks_itself);
    return *this;
  }

  /// The handler takes a struct of std::string, std::optional<std::string> and enums, or
  /// std::map<std::string, std::string>; it returns text, a PromptMessage, several, or a
  /// PromptResult.
  template <class F>
  Server& prompt(std::string name, std::string about, F&& handler, PromptOptions options = {}) {
    using Traits = detail::server::HandlerTraits<F>;
    static_assert(detail::server::prompt_may_return<typename Traits::Output>(),
                  "godwit: a prompt returns text, content, a PromptMessage, several, or a "
                  "PromptResult");
    Prompt prompt;
    prompt.name = std::move(name);
    prompt.description = std::move(about);
    std::vector<PromptArgument> arguments =
        detail::server::prompt_arguments<typename Traits::Input>();
    if (arguments.empty()) arguments = std::move(options.arguments);
    if (!arguments.empty()) prompt.arguments = std::move(arguments);
    add_prompt(std::move(prompt), make_handler(std::forward<F>(handler)), std::move(options));
    return *this;
  }

  /// The handler takes nothing but a Context& if it wants; it returns text, a Blob, contents,
  /// several, or a ReadResult.
  template <class F>
  Server& resource(std::string uri, std::string name, F&& handler, ResourceOptions options = {}) {
    Resource resource;
    resource.uri = std::move(uri);
    resource.name = std::move(name);
    static_assert(
        std::same_as<typename detail::server::HandlerTraits<F>::Input, detail::server::NoInput>,
        "godwit: a resource has one uri and takes no arguments; for several uris use "
        "resource_template");
    check_resource_result<F>();
    add_resource(std::move(resource), make_handler(std::forward<F>(handler)), std::move(options));
    return *this;
  }
  /// The same for all uris that match (RFC 6570). The handler takes a struct with a field for each
  /// variable, or std::map<std::string, std::string>.
  template <class F>
  Server& resource_template(std::string uri_template, std::string name, F&& handler,
                            ResourceOptions options = {}) {
    using Input = typename detail::server::HandlerTraits<F>::Input;
    ResourceTemplate resource;
    resource.uriTemplate = std::move(uri_template);
    resource.name = std::move(name);
    check_resource_result<F>();
    HandlerPtr made = make_handler(std::forward<F>(handler));
    if constexpr (json::detail::Struct<Input> && !std::same_as<Input, detail::server::NoInput>) {
      const TemplateFields fields = detail::server::template_fields<Input>();
      add_template(std::move(resource), std::move(made), std::move(options), &fields);
    } else {
      add_template(std::move(resource), std::move(made), std::move(options), nullptr);
    }
    return *this;
  }

  // Offering what is computed for each caller (godwit/server/provider.hpp): one function gives the
  // list page by page, the other answers calls. The first one added is asked first.

  template <class List, class Call>
  Server& tools(List&& list, Call&& call, ProviderOptions options = {}) {
    check_provider<List, ToolPage, Call>();
    static_assert(
        detail::server::tool_may_return<typename detail::server::HandlerTraits<Call>::Output>(),
        "godwit: a tool returns text, content, a ToolResult or a value with a JSON form");
    return provide(OfferKind::tool, make_handler(std::forward<List>(list)),
                   make_handler(std::forward<Call>(call)), std::move(options));
  }
  template <class List, class Get>
  Server& prompts(List&& list, Get&& get, ProviderOptions options = {}) {
    check_provider<List, PromptPage, Get>();
    static_assert(
        detail::server::prompt_may_return<typename detail::server::HandlerTraits<Get>::Output>(),
        "godwit: a prompt returns text, content, a PromptMessage, several, or a "
        "PromptResult");
    return provide(OfferKind::prompt, make_handler(std::forward<List>(list)),
                   make_handler(std::forward<Get>(get)), std::move(options));
  }
  template <class List, class Read>
  Server& resources(List&& list, Read&& read, ProviderOptions options = {}) {
    check_provider<List, ResourcePage, Read>();
    check_resource_result<Read>();
    return provide(OfferKind::resource, make_handler(std::forward<List>(list)),
                   make_handler(std::forward<Read>(read)), std::move(options));
  }

  /// Proposes values for an argument of a prompt, or a variable of a template, which has been
  /// offered before.
  Server& complete_prompt(std::string prompt, std::string argument, Completer completer);
  Server& complete_template(std::string uri_template, std::string variable, Completer completer);

  /// A method of your own, in every revision. Its result must be an object; a ToolResult is one.
  template <class F>
  Server& method(std::string name, F&& handler) {
    static_assert(
        detail::server::method_may_return<typename detail::server::HandlerTraits<F>::Output>(),
        "godwit: a method of your own returns an object: a struct, a map, a ToolResult, "
        "json::Value or RawJson; or nothing");
    add_method(std::move(name), make_handler(std::forward<F>(handler)), false);
    return *this;
  }
  /// A notification of your own.
  template <class F>
  Server& notification(std::string name, F&& handler) {
    add_method(std::move(name), make_handler(std::forward<F>(handler)), true);
    return *this;
  }
  Server& extension(Extension extension);
  /// Runs around every call, also around those answered late. The first added is the outermost.
  Server& use(rpc::Middleware middleware);
  /// The same with a state of its own for each call.
  template <class State>
  Server& use(rpc::MiddlewareWith<State> middleware) {
    own_router().use(std::move(middleware));
    return *this;
  }

  /// Decides who may see and use what. Of several, all must allow it. Lists are made for each
  /// caller then, and are marked so.
  Server& restrict(AccessPolicy policy);

  // Changing. False if there is nothing of that name.

  bool remove_tool(std::string_view name);
  bool remove_prompt(std::string_view name);
  bool remove_resource(std::string_view uri);
  bool remove_template(std::string_view uri_template);
  /// Hides it, or shows it again.
  bool enable_tool(std::string_view name, bool enabled = true);
  bool enable_prompt(std::string_view name, bool enabled = true);
  bool enable_resource(std::string_view uri, bool enabled = true);
  bool enable_template(std::string_view uri_template, bool enabled = true);
  /// Tells clients that a list which a provider computes is not what it was; of one caller only, if
  /// it is said which.
  void list_changed(OfferKind kind);
  void list_changed(OfferKind kind, const rpc::Identity& caller);
  /// Tells those who subscribed that the resource is not what it was.
  void resource_updated(std::string uri);
  /// Sends a notification of an extension to those whose listen has `value` in this filter.
  /// `params` is an object.
  void tell_listeners(const std::string& filter, const std::string& value, std::string method,
                      RawJson params);

  // Connecting: a connection is an rpc::Peer with this router and these options.

  std::shared_ptr<const rpc::Router> router() const override;
  rpc::PeerOptions peer_options(PeerFacts facts = {}) const override;
  const ServerOptions& options() const;
  /// A handler could ask nobody without a sealer.
  Result<void> check_stateless() const override;
  void set_default_sealer(std::shared_ptr<Sealer> sealer) override;
  /// Connections being served.
  std::size_t sessions() const;
  /// Who the clients are, what they can do, what they subscribed to.
  std::size_t session_bytes() const noexcept override;

  struct Impl;

 private:
  using HandlerPtr = std::shared_ptr<const detail::server::WorkHandler>;
  using TemplateFields = detail::server::TemplateFields;

  template <class F>
  static HandlerPtr make_handler(F&& handler) {
    return std::make_shared<detail::server::FunctionHandler<std::decay_t<F>>>(
        std::forward<F>(handler));
  }

  template <class F>
  static constexpr void check_resource_result() {
    static_assert(
        detail::server::resource_may_return<typename detail::server::HandlerTraits<F>::Output>(),
        "godwit: a resource returns text, a Blob, ResourceContents, several, or a ReadResult");
  }

  template <class List, class Page, class Call>
  static constexpr void check_provider() {
    using ListTraits = detail::server::HandlerTraits<List>;
    using CallTraits = detail::server::HandlerTraits<Call>;
    static_assert(
        std::same_as<typename ListTraits::Output, Page> &&
            (std::same_as<typename ListTraits::Input, PageQuery> ||
             std::same_as<typename ListTraits::Input, detail::server::NoInput>),
        "godwit: the list function of a provider takes a PageQuery and returns a ToolPage, "
        "PromptPage or ResourcePage");
    static_assert(
        json::detail::Struct<typename CallTraits::Input> &&
            !std::same_as<typename CallTraits::Input, detail::server::NoInput>,
        "godwit: the call function of a provider takes a struct that says what is called: "
        "ToolCall, PromptCall, ResourceRead or one with the same fields");
  }

  Server& provide(OfferKind kind, HandlerPtr list, HandlerPtr call, ProviderOptions options);
  rpc::Router& own_router();
  HandlerPtr require_executor(HandlerPtr handler) const;
  void add_tool(Tool tool, HandlerPtr handler, ToolOptions options, bool checks_itself);
  void add_prompt(Prompt prompt, HandlerPtr handler, PromptOptions options);
  void add_resource(Resource resource, HandlerPtr handler, ResourceOptions options);
  /// `fields` is null if the handler takes any variables.
  void add_template(ResourceTemplate resource, HandlerPtr handler, ResourceOptions options,
                    const TemplateFields* fields);
  void add_method(std::string name, HandlerPtr handler, bool notification);

  std::shared_ptr<Impl> impl_;
};

}  // namespace godwit::inline v0
