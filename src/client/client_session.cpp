#include "godwit/client/client_session.hpp"

#include <new>

#include "godwit/json/document.hpp"
#include "godwit/rpc/error_code.hpp"
#include "lists.hpp"
#include "mcp/rules.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

using detail::client::RequestParams;
using detail::client::SharedText;
using detail::client::ViewDone;
using mcp::Operation;

namespace {

/// Tools that cannot be called and about which the log says so.
constexpr std::size_t most_refused_tools = 1'000;

/// Everything the server sends goes through here; the table of the codec decides.
template <class State>
class SessionHandler final : public rpc::detail::Handler {
 public:
  explicit SessionHandler(std::weak_ptr<State> state) : state_(std::move(state)) {}
  void invoke(rpc::detail::Call& call) const override {
    if (const auto state = state_.lock()) return state->receive(call);
    call.fail(rpc::method_not_found(call.context().method()));
  }

 private:
  std::weak_ptr<State> state_;
};

/// Hands what `read` makes of the result, a Result<T>, to the callback of the program.
template <class T, class Read>
ViewDone reading(Function<void(Result<T>)> done, Read read) {
  return [done = std::move(done), read = std::move(read)](Result<json::View> outcome) mutable {
    if (!outcome) return done(std::move(outcome).error());
    done(or_out_of_memory([&]() -> Result<T> { return read(*outcome); }));
  };
}

Error not_expected(const Error& reason) {
  return rpc::internal_error("the result is not what was expected: " + reason.message);
}

/// The result as a T for the callback of the program.
template <class T>
ViewDone decoded(Function<void(Result<T>)> done) {
  return reading<T>(std::move(done), [](json::View result) -> Result<T> {
    auto value = json::decode<T>(result);
    if (!value) return not_expected(value.error());
    return value;
  });
}

ViewDone ignored(Function<void(Result<void>)> done) {
  return [done = std::move(done)](Result<json::View> outcome) mutable {
    if (!outcome) return done(std::move(outcome).error());
    done(Result<void>());
  };
}

Error not_an_object(std::string_view tool) {
  return rpc::invalid_params("the arguments of the tool " + json::quote(tool.substr(0, 200)) +
                             " must be a JSON object; nothing was sent");
}

std::string member(std::string_view name, std::string_view text) {
  return json::quote(name) + ':' + json::quote(text);
}

}  // namespace

ClientSession::ClientSession(ClientOptions options)
    : state_(std::make_shared<State>(std::move(options))) {
  auto router = std::make_shared<rpc::Router>();
  router->fallback(std::make_unique<SessionHandler<State>>(state_));
  router_ = std::move(router);
}

ClientSession::~ClientSession() {
  if (state_) state_->shut_down();
}

ClientSession::ClientSession(ClientSession&&) noexcept = default;

ClientSession& ClientSession::operator=(ClientSession&& other) noexcept {
  if (this != &other) {
    if (state_) state_->shut_down();
    state_ = std::move(other.state_);
    router_ = std::move(other.router_);
  }
  return *this;
}

// The host.

std::shared_ptr<const rpc::Router> ClientSession::router() const { return router_; }

rpc::PeerOptions ClientSession::peer_options() const {
  rpc::PeerOptions out;
  out.rules = mcp::profile();
  out.limits = state_->options.limits;
  out.log = state_->options.log;
  out.tap = state_->options.tap;
  out.abandoned = [weak = std::weak_ptr(state_)](rpc::Peer&, const rpc::Id& id,
                                                 const Error& reason) {
    if (const auto state = weak.lock()) state->abandoned(id, reason);
  };
  out.held = [weak = std::weak_ptr(state_)](std::uint64_t number, bool held) {
    if (const auto state = weak.lock()) state->held(number, held);
  };
  out.ended = [weak = std::weak_ptr(state_)](const Error& reason) {
    if (const auto state = weak.lock()) state->peer_ended(reason);
  };
  out.garbage = [weak = std::weak_ptr(state_)](std::string_view text) {
    if (const auto state = weak.lock()) state->take_garbage(text);
  };
  return out;
}

bool ClientSession::ended_at_probe() const noexcept {
  return state_->phase == State::Phase::ended && state_->probe_unanswered && !state_->codec &&
         state_->options.lifecycle == Lifecycle::automatic;
}

void ClientSession::start(rpc::Peer& peer, Function<void(Result<void>)> done) {
  state_->start(peer, std::move(done));
}

// The server.

bool ClientSession::ready() const noexcept { return state_->phase == State::Phase::ready; }
const Implementation& ClientSession::server_info() const noexcept { return state_->welcome.server; }
const ServerCapabilities& ClientSession::server_capabilities() const noexcept {
  return state_->welcome.capabilities;
}
const std::string& ClientSession::instructions() const noexcept {
  return state_->welcome.instructions;
}
std::string_view ClientSession::revision() const noexcept {
  return state_->codec ? state_->codec->revision() : std::string_view();
}
const std::vector<std::string>& ClientSession::supported_revisions() const noexcept {
  return state_->welcome.revisions;
}
const ClientCapabilities& ClientSession::client_capabilities() const noexcept {
  return state_->capabilities;
}

Verdict ClientSession::verdict() const { return state_->verdict(); }

Verdict ClientSession::State::verdict() const {
  return {.stateless = codec && !shook_hands,
          .revision = std::string(codec ? codec->revision() : std::string_view()),
          .capabilities = welcome.capabilities,
          .server = welcome.server,
          .instructions = welcome.instructions,
          .revisions = welcome.revisions};
}

// Tools.

ClientCall ClientSession::list_tools(Done<std::vector<Tool>> done, RequestOptions options) {
  auto noted = [state = state_, done = std::move(done)](Result<std::vector<Tool>> tools) mutable {
    if (tools && state->options.check_results) state->keep_schemas(*tools, true);
    done(std::move(tools));
  };
  return detail::client::list_all<Tool>(state_, std::move(noted), std::move(options));
}

ClientCall ClientSession::list_tools_page(std::optional<std::string> cursor, Done<Page<Tool>> done,
                                          RequestOptions options) {
  auto noted = [state = state_, done = std::move(done)](Result<Page<Tool>> page) mutable {
    if (page && state->options.check_results) state->keep_schemas(page->items, false);
    done(std::move(page));
  };
  return detail::client::list_page<Tool>(state_, std::move(cursor), std::move(noted),
                                         std::move(options));
}

ClientCall ClientSession::call_tool(std::string_view name, RawJson arguments, Done<ToolResult> done,
                                    RequestOptions options) {
  if (!arguments.text.empty()) {
    json::Document document;
    if (!document.parse(arguments.text)) {
      done(not_an_object(name));
      return {};
    }
  }
  return send_tool(name, std::make_shared<const std::string>(std::move(arguments.text)),
                   std::move(done), std::move(options));
}

ClientCall ClientSession::send_tool(std::string_view name, SharedText arguments,
                                    Done<ToolResult> done, RequestOptions options) {
  RequestParams params{.members = member("name", name), .name = std::string(name)};
  if (!arguments->empty()) {
    const std::size_t first = arguments->find_first_not_of(" \t\r\n");
    if (first == std::string::npos || (*arguments)[first] != '{') {
      done(not_an_object(name));
      return {};
    }
    params.arguments = std::move(arguments);
  }
  auto read = [state = state_, tool = std::string(name)](json::View answer) -> Result<ToolResult> {
    auto result = json::decode<ToolResult>(answer);
    if (!result) return detail::client::not_expected(tool, result.error());
    const json::View structured = answer.find("structuredContent");
    // null is a value here, not an absence.
    if (structured && structured.is_null()) result->structuredContent = RawJson{"null"};
    if (state->options.check_results && !result->isError.value_or(false)) {
      if (auto problem = state->schemas.complaint(tool, structured, state->options.log)) {
        return rpc::internal_error("the tool " + json::quote(tool) +
                                   " broke its promise: " + *problem);
      }
    }
    return result;
  };
  return state_->ask(Operation::call_tool, std::move(params), std::move(options),
                     reading<ToolResult>(std::move(done), std::move(read)));
}

void ClientSession::State::keep_schemas(const std::vector<Tool>& tools, bool all) noexcept {
  try {
    const bool whole = all ? schemas.replace(tools, options.limits.list_bytes)
                           : schemas.add(tools, options.limits.list_bytes);
    if (whole) return;
    options.log.limited(LogLevel::warning, "the output schemas of the tools have more than " +
                                               std::to_string(options.limits.list_bytes) +
                                               " bytes; the results of some tools are not checked");
  } catch (const std::bad_alloc&) {
    options.log.caught("the results of some tools are not checked");
  }
}

bool ClientSession::State::can_call(const std::string& tool, json::View input_schema) {
  const auto problem = has_fields ? codec->check_schema(input_schema) : std::nullopt;
  if (!problem) return true;
  if (refused_tools.size() < most_refused_tools &&
      refused_tools.insert(tool.substr(0, 200)).second) {
    options.log.limited(
        LogLevel::warning,
        "the tool " + json::quote(tool.substr(0, 200)) +
            " is left out, because it cannot be called over HTTP: " + problem->message);
  }
  return false;
}

// Resources and prompts.

ClientCall ClientSession::list_resources(Done<std::vector<Resource>> done, RequestOptions options) {
  return detail::client::list_all<Resource>(state_, std::move(done), std::move(options));
}
ClientCall ClientSession::list_resources_page(std::optional<std::string> cursor,
                                              Done<Page<Resource>> done, RequestOptions options) {
  return detail::client::list_page<Resource>(state_, std::move(cursor), std::move(done),
                                             std::move(options));
}
ClientCall ClientSession::list_resource_templates(Done<std::vector<ResourceTemplate>> done,
                                                  RequestOptions options) {
  return detail::client::list_all<ResourceTemplate>(state_, std::move(done), std::move(options));
}
ClientCall ClientSession::list_resource_templates_page(std::optional<std::string> cursor,
                                                       Done<Page<ResourceTemplate>> done,
                                                       RequestOptions options) {
  return detail::client::list_page<ResourceTemplate>(state_, std::move(cursor), std::move(done),
                                                     std::move(options));
}
ClientCall ClientSession::list_prompts(Done<std::vector<Prompt>> done, RequestOptions options) {
  return detail::client::list_all<Prompt>(state_, std::move(done), std::move(options));
}
ClientCall ClientSession::list_prompts_page(std::optional<std::string> cursor,
                                            Done<Page<Prompt>> done, RequestOptions options) {
  return detail::client::list_page<Prompt>(state_, std::move(cursor), std::move(done),
                                           std::move(options));
}

ClientCall ClientSession::read_resource(std::string_view uri, Done<ReadResult> done,
                                        RequestOptions options) {
  return state_->ask(Operation::read_resource,
                     {.members = member("uri", uri), .name = std::string(uri)}, std::move(options),
                     decoded<ReadResult>(std::move(done)));
}

ClientCall ClientSession::get_prompt(std::string_view name,
                                     const std::map<std::string, std::string>& arguments,
                                     Done<PromptResult> done, RequestOptions options) {
  RequestParams params{.members = member("name", name), .name = std::string(name)};
  if (!arguments.empty()) {
    params.arguments = std::make_shared<const std::string>(json::encode(arguments));
  }
  return state_->ask(Operation::get_prompt, std::move(params), std::move(options),
                     decoded<PromptResult>(std::move(done)));
}

ClientCall ClientSession::complete(const CompletionReference& reference,
                                   const CompletionArgument& argument, Done<Completion> done,
                                   const CompletionContext& context, RequestOptions options) {
  struct Answer {
    Completion completion{};
  };
  std::string members;  // without a codec nothing is sent
  if (state_->codec) members = state_->codec->completion(reference, argument, context);
  auto unwrapped = [done = std::move(done)](Result<Answer> answer) mutable {
    if (!answer) return done(std::move(answer).error());
    done(std::move(answer->completion));
  };
  return state_->ask(Operation::complete, {.members = std::move(members)}, std::move(options),
                     decoded<Answer>(std::move(unwrapped)));
}

// The rest.

Listen ClientSession::listen(SubscriptionFilter filter, ListenCallbacks callbacks) {
  return state_->listen(std::move(filter), std::move(callbacks));
}

void ClientSession::forget_answers(const SubscriptionFilter& about) {
  detail::client::ResponseCache& cache = state_->cache;
  if (about.toolsListChanged.value_or(false)) cache.drop(Operation::list_tools);
  if (about.promptsListChanged.value_or(false)) cache.drop(Operation::list_prompts);
  if (about.resourcesListChanged.value_or(false)) {
    cache.drop(Operation::list_resources);
    cache.drop(Operation::list_templates);
  }
  if (!about.resourceSubscriptions) return;
  for (const std::string& uri : *about.resourceSubscriptions) cache.drop_reads(uri);
}

ClientCall ClientSession::set_log_level(LoggingLevel level, Done<void> done) {
  const auto state = state_;
  const auto message = state->message_for(mcp::Wish::log_level, Operation::set_level);
  if (!message) {
    std::optional<Error> error = state->refusal("the level");
    if (!error) error = state->missing_capability(Operation::set_level);
    if (!error) state->log_level = level;
    done(error ? Result<void>(*std::move(error)) : Result<void>());
    return {};
  }
  return state->ask(*message, {.members = member("level", json::enum_name(level))}, {},
                    ignored(std::move(done)));
}

ClientCall ClientSession::ping(Done<void> done, RequestOptions options) {
  const auto message = state_->message_for(mcp::Wish::sign_of_life, Operation::ping);
  if (!message) {  // nothing to ask: as long as nobody says otherwise, it lives
    auto error = state_->refusal("the ping");
    done(error ? Result<void>(*std::move(error)) : Result<void>());
    return {};
  }
  options.fresh = true;
  return state_->ask(*message, {}, std::move(options), ignored(std::move(done)));
}

ClientCall ClientSession::discover(Done<Verdict> done, RequestOptions options) {
  const auto message = state_->message_for(mcp::Wish::description, Operation::discover);
  if (!message) {
    if (auto error = state_->refusal("discover")) {
      done(*std::move(error));
    } else {
      done(verdict());
    }
    return {};
  }
  auto read = [state = state_](json::View answer) -> Result<Verdict> {
    if (auto problem = state->too_long(answer)) return *std::move(problem);
    auto found = state->codec->read_discovery(answer);
    if (!found) return not_expected(found.error());
    state->welcome = *std::move(found);
    return state->verdict();
  };
  return state_->ask(*message, {}, std::move(options),
                     reading<Verdict>(std::move(done), std::move(read)));
}

Result<void> ClientSession::set_roots(std::vector<Root> roots) {
  if (!state_->options.roots) {
    return error(
        "ClientOptions::roots was not set, so roots were not declared; set it from the "
        "start, if only to an empty list");
  }
  state_->options.roots = std::move(roots);
  if (!ready()) return {};
  if (const auto message = state_->codec->message_for(mcp::Wish::tell_of_roots)) {
    state_->peer->notify(state_->codec->name_of(*message));
  }
  return {};
}

ClientCall ClientSession::request(std::string_view method, RawJson params, Done<RawJson> done,
                                  RequestOptions options) {
  const auto text = [](json::View result) { return RawJson{std::string(result.source())}; };
  return state_->ask_method(method, std::move(params), std::move(options),
                            reading<RawJson>(std::move(done), text));
}

Result<void> ClientSession::notify(std::string_view method, RawJson params) {
  if (auto error = state_->refusal(method)) return *std::move(error);
  if (params.text.empty()) {
    state_->peer->notify(method);
    return {};
  }
  json::Document document;
  const auto parsed = document.parse(params.text);
  if (!parsed || !parsed->is_object()) {
    return rpc::invalid_params("the params of " + json::quote(method) +
                               " must be a JSON object; nothing was sent");
  }
  state_->peer->notify(method, params);
  return {};
}

bool ClientSession::cancel(ClientCall call, std::string_view reason) {
  return state_->cancel(call.number, reason);
}

}  // namespace godwit::inline v0
