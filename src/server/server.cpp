#include "godwit/server/server.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "asks.hpp"
#include "gate.hpp"
#include "godwit/mcp/memory_change_bus.hpp"
#include "godwit/mcp/memory_ledger.hpp"
#include "mcp/rules.hpp"
#include "provider.hpp"
#include "server_impl.hpp"
#include "session.hpp"

namespace godwit::inline v0 {

namespace {

[[noreturn]] void refuse(std::string why) { throw std::invalid_argument("godwit: " + why); }

/// A text in an error, however long it is.
std::string shown(std::string_view name) {
  constexpr std::size_t longest = 200;
  return json::quote(name.substr(0, longest)) + (name.size() > longest ? "…" : "");
}

void check_name(std::string_view what, std::string_view name) {
  if (name.empty()) refuse(std::string(what) + " needs a name");
  for (const char c : name) {
    if ((c >= 0 && c < 0x20) || c == 0x7f) {
      refuse("the name of " + std::string(what) + " must not have control characters, got " +
             shown(name));
    }
  }
}

/// What the protocol says about the names of tools; some clients refuse the whole list for another.
void check_tool_name(std::string_view name) {
  check_name("a tool", name);
  bool good = name.size() <= 128;
  for (const char c : name) {
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-' || c == '.');
  }
  if (!good) {
    refuse("the name of a tool has up to 128 letters (a-z, A-Z), digits, '_', '-' and '.', got " +
           shown(name));
  }
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// `it has none` or `it has "a", "b"`.
std::string it_has(const std::vector<std::string>& names) {
  if (names.empty()) return "it has none";
  std::string text = "it has ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i > 0 ? ", " : "") + shown(names[i]);
  }
  return text;
}

json::Schema compile(std::string_view what, const RawJson& text, bool must_be_object) {
  const Result<json::Value> value = json::parse(text.text);
  if (!value) refuse(std::string(what) + " is not JSON: " + value.error().message);
  if (must_be_object && (*value)["type"].as_string() != "object") {
    refuse(std::string(what) + " must say \"type\":\"object\"");
  }
  Result<json::Schema> schema = json::Schema::compile(*value);
  if (!schema) refuse(std::string(what) + ": " + schema.error().message);
  return *std::move(schema);
}

template <class T>
void set_some(std::optional<T>& to, T from) {
  if (!from.empty()) to = std::move(from);
}

void set_meta(std::optional<json::Object>& to, json::Object from) {
  if (!from.empty()) to = std::move(from);
}

template <class R>
void describe(R& resource, ResourceOptions& options) {
  resource.title = std::move(options.title);
  resource.description = std::move(options.description);
  resource.mimeType = std::move(options.mimeType);
  set_some(resource.icons, std::move(options.icons));
  resource.annotations = std::move(options.annotations);
  set_meta(resource._meta, std::move(options.meta));
}

}  // namespace

Server::Impl::Impl(ServerOptions options_) : options(std::move(options_)) {
  info.name = options.name;
  info.version = options.version;
  info.title = options.title;
  info.description = options.description;
  info.websiteUrl = options.websiteUrl;
  if (!options.icons.empty()) info.icons = options.icons;
  if (!options.ledger) options.ledger = std::make_shared<MemoryLedger>();
  if (!options.changes) options.changes = std::make_shared<MemoryChangeBus>();
  info_json = json::encode(info);
  router = std::make_shared<rpc::Router>(options.executor);
  router->fallback(std::make_unique<detail::server::Gate>());
}

namespace {

unsigned bit_of(Change::Kind list) {
  switch (list) {
    case Change::Kind::tools:
      return detail::server::tools_changed;
    case Change::Kind::prompts:
      return detail::server::prompts_changed;
    default:
      return detail::server::resources_changed;
  }
}

}  // namespace

std::shared_ptr<const detail::server::Catalog> Server::Impl::catalog() {
  const std::lock_guard lock(mutex);
  if (!snapshot) snapshot = std::make_shared<const detail::server::Catalog>(tables, options);
  return snapshot;
}

void Server::Impl::enter(const std::shared_ptr<detail::server::Session>& session) {
  const std::lock_guard lock(mutex);
  sessions.emplace(session.get(), session);
}

void Server::Impl::leave(detail::server::Session* session) {
  const std::lock_guard lock(mutex);
  sessions.erase(session);
}

std::vector<std::shared_ptr<detail::server::Session>> Server::Impl::everyone() {
  std::vector<std::shared_ptr<detail::server::Session>> all;
  const std::lock_guard lock(mutex);
  all.reserve(sessions.size());
  for (const auto& [key, weak] : sessions) {
    if (auto session = weak.lock()) all.push_back(std::move(session));
  }
  return all;
}

void Server::Impl::tell(unsigned changes) {
  using namespace detail::server;
  if (changes & tools_changed) publish({.kind = Change::Kind::tools});
  if (changes & prompts_changed) publish({.kind = Change::Kind::prompts});
  if (changes & resources_changed) publish({.kind = Change::Kind::resources});
}

void Server::Impl::publish(Change change) noexcept {
  try {
    const std::shared_ptr<ChangeBus> bus = options.changes;  // whose code may destroy this
    bus->publish(std::move(change), Done<void>([log = options.log](Result<void> outcome) {
                   if (outcome) return;
                   log.write(LogLevel::error, {"clients may not hear of a change, because it could "
                                               "not be published: ",
                                               outcome.error().message});
                 }));
  } catch (...) {
    options.log.caught("clients may not hear of a change, because it could not be published");
  }
}

void Server::Impl::hear(const Change& change) {
  const std::shared_ptr<const rpc::Identity> caller =
      change.caller ? std::make_shared<const rpc::Identity>(*change.caller) : nullptr;
  for (const auto& session : everyone()) {
    try {
      if (change.kind == Change::Kind::resource_updated) {
        session->tell_updated_later(change.uri);
      } else if (caller) {
        session->tell_later(bit_of(change.kind), caller);
      } else {
        session->tell_later(bit_of(change.kind));
      }
    } catch (...) {  // the others are told all the same
      options.log.caught("a client could not be told of a change");
    }
  }
}

std::int64_t Server::Impl::unix_time() const {
  if (options.unix_time) return options.unix_time();
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Server::Server(ServerOptions options) {
  check_name("a server", options.name);
  impl_ = std::make_shared<Impl>(std::move(options));
  impl_->hearing =
      impl_->options.changes->subscribe([weak = std::weak_ptr(impl_)](const Change& change) {
        if (const auto impl = weak.lock()) impl->hear(change);
      });
}
Server::~Server() = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;

// Offering.

void Server::add_tool(Tool tool, HandlerPtr handler, ToolOptions options, bool checks_itself) {
  check_tool_name(tool.name);
  auto entry = std::make_shared<detail::server::ToolEntry>();
  const std::string what = "the input schema of the tool " + json::quote(tool.name);
  if (!options.input_schema.text.empty()) checks_itself = false;
  entry->input = compile(what, tool.inputSchema, true);
  json::Document schema;
  Result<std::vector<mcp::ParamHeader>> headers =
      mcp::param_headers(*schema.parse(tool.inputSchema.text));
  if (!headers) refuse(what + " is not usable: " + headers.error().message);
  entry->param_headers = *std::move(headers);
#if defined(NDEBUG)
  const bool check_output = impl_->options.check_output;
#else
  const bool check_output = true;
#endif
  if (tool.outputSchema) {
    json::Schema output = compile("the output schema of the tool " + json::quote(tool.name),
                                  *tool.outputSchema, false);
    if (check_output) entry->output = std::move(output);
  }
  tool.title = std::move(options.title);
  if (options.annotations != ToolAnnotations{}) tool.annotations = std::move(options.annotations);
  set_some(tool.icons, std::move(options.icons));
  set_meta(tool._meta, std::move(options.meta));
  entry->checks_itself = checks_itself;
  entry->check_arguments = options.check_arguments;
  entry->timeout = options.timeout;
  entry->concurrency = options.concurrency;
  entry->digest = detail::server::digest_of(tool.inputSchema.text);
  entry->handler = require_executor(std::move(handler));
  entry->tool = std::move(tool);
  impl_->change(detail::server::tools_changed,
                [&](detail::server::Tables& tables) { tables.tools.put(entry->tool.name, entry); });
}

Server::HandlerPtr Server::require_executor(HandlerPtr handler) const {
  if (handler->needs_executor() && !impl_->options.executor) {
    refuse("a blocking handler needs an executor; set ServerOptions::executor, e.g. a ThreadPool");
  }
  return handler;
}

void Server::add_prompt(Prompt prompt, HandlerPtr handler, PromptOptions options) {
  check_name("a prompt", prompt.name);
  auto entry = std::make_shared<detail::server::PromptEntry>();
  prompt.title = std::move(options.title);
  set_some(prompt.icons, std::move(options.icons));
  set_meta(prompt._meta, std::move(options.meta));
  entry->digest = detail::server::digest_of(json::encode(prompt.arguments));
  entry->handler = require_executor(std::move(handler));
  entry->prompt = std::move(prompt);
  impl_->change(detail::server::prompts_changed, [&](detail::server::Tables& tables) {
    tables.prompts.put(entry->prompt.name, entry);
  });
}

void Server::add_resource(Resource resource, HandlerPtr handler, ResourceOptions options) {
  check_name("a resource", resource.name);
  if (resource.uri.find(':') == std::string::npos) {
    refuse("the resource " + json::quote(resource.name) + " needs a uri with a scheme, got " +
           json::quote(resource.uri));
  }
  auto entry = std::make_shared<detail::server::ResourceEntry>();
  resource.size = options.size;
  entry->cache = options.cache;
  describe(resource, options);
  entry->handler = require_executor(std::move(handler));
  entry->resource = std::move(resource);
  impl_->change(detail::server::resources_changed, [&](detail::server::Tables& tables) {
    tables.resources.put(entry->resource.uri, entry);
  });
}

void Server::add_template(ResourceTemplate resource, HandlerPtr handler, ResourceOptions options,
                          const TemplateFields* fields) {
  check_name("a resource template", resource.name);
  Result<UriTemplate> uri = UriTemplate::parse(resource.uriTemplate);
  const std::string what = "the uri template " + shown(resource.uriTemplate);
  if (!uri) refuse(what + ": " + uri.error().message);
  if (fields) {
    for (const std::string& variable : uri->variables()) {
      if (!contains(fields->names, variable)) {
        refuse(what + " has the variable " + shown(variable) +
               ", and the handler's struct has no field of that name; " + it_has(fields->names));
      }
    }
    for (const std::string& field : fields->required) {
      if (!contains(uri->variables(), field)) {
        refuse("the handler of " + what + " needs " + shown(field) +
               ", and the template has no such variable; " + it_has(uri->variables()));
      }
    }
  }
  auto entry = std::make_shared<detail::server::TemplateEntry>();
  entry->uri = *std::move(uri);
  entry->cache = options.cache;
  describe(resource, options);
  entry->digest = detail::server::digest_of(resource.uriTemplate);
  entry->handler = require_executor(std::move(handler));
  entry->resource = std::move(resource);
  impl_->change(detail::server::resources_changed, [&](detail::server::Tables& tables) {
    tables.templates.put(entry->resource.uriTemplate, entry);
  });
}

void Server::add_method(std::string name, HandlerPtr handler, bool notification) {
  check_name("a method", name);
  if (name.starts_with("rpc.")) refuse("method names that begin with \"rpc.\" are reserved");
  auto entry = std::make_shared<detail::server::MethodEntry>();
  entry->name = name;
  entry->notification = notification;
  entry->handler = require_executor(std::move(handler));
  impl_->change(0, [&](detail::server::Tables& tables) {
    tables.methods.insert_or_assign(std::move(name), std::move(entry));
  });
}

Server& Server::complete_prompt(std::string prompt, std::string argument, Completer completer) {
  if (!completer) refuse("a completer for the prompt " + shown(prompt) + " is an empty function");
  impl_->change(0, [&](detail::server::Tables& tables) {
    const auto entry = tables.prompts.find(prompt);
    if (!entry) {
      refuse("there is no prompt " + shown(prompt) + " to complete arguments of; offer it first");
    }
    std::vector<std::string> names;
    if (entry->prompt.arguments) {
      for (const PromptArgument& one : *entry->prompt.arguments) names.push_back(one.name);
    }
    if (!contains(names, argument)) {
      refuse("the prompt " + shown(prompt) + " has no argument " + shown(argument) +
             " to complete; " + it_has(names) +
             " (those of a map are listed in PromptOptions::arguments)");
    }
    tables.prompt_completers.insert_or_assign({std::move(prompt), std::move(argument)},
                                              std::move(completer));
  });
  return *this;
}

Server& Server::complete_template(std::string uri_template, std::string variable,
                                  Completer completer) {
  if (!completer) {
    refuse("a completer for the template " + shown(uri_template) + " is an empty function");
  }
  impl_->change(0, [&](detail::server::Tables& tables) {
    const auto entry = tables.templates.find(uri_template);
    if (!entry) {
      refuse("there is no uri template " + shown(uri_template) +
             " to complete variables of; offer it first");
    }
    if (!contains(entry->uri->variables(), variable)) {
      refuse("the uri template " + shown(uri_template) + " has no variable " + shown(variable) +
             " to complete; " + it_has(entry->uri->variables()));
    }
    tables.template_completers.insert_or_assign({std::move(uri_template), std::move(variable)},
                                                std::move(completer));
  });
  return *this;
}

Server& Server::extension(Extension extension) {
  if (extension.id.find('/') == std::string::npos) {
    refuse("an extension is named like \"com.example/feature\", got " + json::quote(extension.id));
  }
  impl_->change(0, [&](detail::server::Tables& tables) {
    std::string id = extension.id;
    tables.extensions.insert_or_assign(std::move(id), std::move(extension));
  });
  return *this;
}

Server& Server::use(rpc::Middleware middleware) {
  own_router().use(std::move(middleware));
  return *this;
}

rpc::Router& Server::own_router() { return *impl_->router; }

Server& Server::restrict(AccessPolicy policy) {
  if (!policy.decide) refuse("a policy needs a function that decides");
  impl_->policies.push_back(std::move(policy));
  return *this;
}

// Changing.

namespace {

template <class Pick>
bool remove(Server::Impl& impl, unsigned change, std::string_view name, Pick pick) {
  bool found = false;
  bool changed = false;
  impl.change(0,
              [&](detail::server::Tables& tables) { found = pick(tables).remove(name, changed); });
  if (changed) impl.tell(change);
  return found;
}

template <class Pick>
bool enable(Server::Impl& impl, unsigned change, std::string_view name, bool on, Pick pick) {
  bool found = false;
  bool changed = false;
  impl.change(
      0, [&](detail::server::Tables& tables) { found = pick(tables).enable(name, on, changed); });
  if (changed) impl.tell(change);
  return found;
}

constexpr auto pick_tools = [](detail::server::Tables& tables) -> auto& { return tables.tools; };
constexpr auto pick_prompts = [](detail::server::Tables& tables) -> auto& {
  return tables.prompts;
};
constexpr auto pick_resources = [](detail::server::Tables& tables) -> auto& {
  return tables.resources;
};
constexpr auto pick_templates = [](detail::server::Tables& tables) -> auto& {
  return tables.templates;
};

}  // namespace

bool Server::remove_tool(std::string_view name) {
  return remove(*impl_, detail::server::tools_changed, name, pick_tools);
}
bool Server::remove_prompt(std::string_view name) {
  return remove(*impl_, detail::server::prompts_changed, name, pick_prompts);
}
bool Server::remove_resource(std::string_view uri) {
  return remove(*impl_, detail::server::resources_changed, uri, pick_resources);
}
bool Server::remove_template(std::string_view uri_template) {
  return remove(*impl_, detail::server::resources_changed, uri_template, pick_templates);
}
bool Server::enable_tool(std::string_view name, bool enabled) {
  return enable(*impl_, detail::server::tools_changed, name, enabled, pick_tools);
}
bool Server::enable_prompt(std::string_view name, bool enabled) {
  return enable(*impl_, detail::server::prompts_changed, name, enabled, pick_prompts);
}
bool Server::enable_resource(std::string_view uri, bool enabled) {
  return enable(*impl_, detail::server::resources_changed, uri, enabled, pick_resources);
}
bool Server::enable_template(std::string_view uri_template, bool enabled) {
  return enable(*impl_, detail::server::resources_changed, uri_template, enabled, pick_templates);
}

namespace {

unsigned change_of(OfferKind kind) {
  switch (kind) {
    case OfferKind::tool:
      return detail::server::tools_changed;
    case OfferKind::prompt:
      return detail::server::prompts_changed;
    default:
      return detail::server::resources_changed;
  }
}

}  // namespace

Server& Server::provide(OfferKind kind, HandlerPtr list, HandlerPtr call, ProviderOptions options) {
  using detail::server::ListKind;
  auto provider = std::make_shared<detail::server::Provider>();
  provider->kind = kind == OfferKind::tool     ? ListKind::tools
                   : kind == OfferKind::prompt ? ListKind::prompts
                                               : ListKind::resources;
  provider->list = require_executor(std::move(list));
  provider->call = require_executor(std::move(call));
  provider->options = std::move(options);
  impl_->change(change_of(kind), [&](detail::server::Tables& tables) {
    auto& all = tables.providers[static_cast<std::size_t>(provider->kind)];
    provider->source = all.size() + 1;
    all.push_back(std::move(provider));
  });
  return *this;
}

void Server::list_changed(OfferKind kind) { impl_->tell(change_of(kind)); }

void Server::list_changed(OfferKind kind, const rpc::Identity& caller) {
  using Kind = Change::Kind;
  impl_->publish({.kind = kind == OfferKind::tool     ? Kind::tools
                          : kind == OfferKind::prompt ? Kind::prompts
                                                      : Kind::resources,
                  .caller = caller});
}

void Server::resource_updated(std::string uri) {
  impl_->publish({.kind = Change::Kind::resource_updated, .uri = std::move(uri)});
}

void Server::tell_listeners(const std::string& filter, const std::string& value, std::string method,
                            RawJson params) {
  for (const auto& session : impl_->everyone()) {
    session->post([weak = std::weak_ptr(session), filter, value, method, params] {
      if (const auto self = weak.lock()) self->tell_filtered(filter, value, method, params);
    });
  }
}

// Connecting.

std::shared_ptr<const rpc::Router> Server::router() const { return impl_->router; }

rpc::PeerOptions Server::peer_options(PeerFacts facts) const {
  rpc::PeerOptions options;
  options.rules = mcp::profile();
  options.limits = impl_->options.limits;
  options.log = impl_->options.log;
  options.tap = impl_->options.tap;
  options.clock = impl_->options.clock;
  options.in_flight_bytes = impl_->in_flight_bytes;
  options.identity = std::move(facts.identity);
  options.attach = attaching([impl = impl_, user = std::move(facts.user)](rpc::Peer& peer) {
    auto session = std::make_shared<detail::server::Session>(impl, peer, user);
    impl->enter(session);
    return session;
  });
  options.abandoned = [](rpc::Peer& peer, const rpc::Id& id, const Error& reason) {
    // Only those who agreed on something are asked by requests.
    auto& session = static_cast<detail::server::Session&>(session_of(peer));
    if (!session.codec()) return;
    peer.notify_cancelled(id, session.codec()->name_of(mcp::Operation::cancelled),
                          mcp::CancelledParams{.requestId = id, .reason = reason.message});
  };
  return options;
}

std::shared_ptr<const Caller> Server::Impl::known(Caller caller) {
  const std::lock_guard lock(mutex);
  for (const auto& each : callers) {
    auto known = each.lock();
    if (known && *known == caller) return known;
  }
  auto made = std::make_shared<const Caller>(std::move(caller));
  callers[next_caller++ % callers.size()] = made;
  return made;
}

const ServerOptions& Server::options() const { return impl_->options; }

Result<void> Server::check_stateless() const {
  if (impl_->options.sealer) return {};
  return error(
      "the server has no sealer, without which a handler could ask stateless clients nothing; "
      "set ServerOptions::sealer, for example to std::make_shared<godwit::AesSealer>(), or serve "
      "stateful clients only (EndpointOptions::stateless)");
}

void Server::set_default_sealer(std::shared_ptr<Sealer> sealer) {
  if (!impl_->options.sealer) impl_->options.sealer = std::move(sealer);
}

std::size_t Server::sessions() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->sessions.size();
}

std::size_t Server::session_bytes() const noexcept { return impl_->session_bytes.load(); }

}  // namespace godwit::inline v0
