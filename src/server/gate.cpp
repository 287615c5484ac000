#include "gate.hpp"

#include "access.hpp"
#include "frame.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/base/work.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/encode.hpp"
#include "mcp/era/stateful.hpp"
#include "mcp/era/stateless.hpp"
#include "result.hpp"
#include "session.hpp"

namespace godwit::inline v0::detail::server {

namespace {

using mcp::Operation;

/// The values that one completion may carry.
constexpr std::size_t most_completions = 100;

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

/// One message on its way to whoever answers it.
class Entrance {
 public:
  Entrance(Session& session, rpc::detail::Call& call)
      : session_(session), call_(call), parts_(call.params()) {}

  void run() {
    request_.method = call_.context().method();
    request_.params = call_.params();
    request_.meta = parts_.meta;
    request_.facts = mcp::find_facts(parts_.meta);
    if ((parts_.may_have_twins || request_.facts.may_have_twins) && call_.refuse_twins()) return;
    if (request_.meta && !request_.meta.is_object()) {
      return refuse_meta(rpc::invalid_params("params/_meta must be an object"));
    }
    if (!choose_era()) return;
    if (session_.only_stateless() && call_.wants_answer() &&
        !agrees(mcp::check_method(fields(), request_.method))) {
      return;
    }
    const mcp::Method* method = request_.dialect->find(request_.method, mcp::Side::server);
    if (!method || method->notification == call_.wants_answer()) return custom();
    operate(method->operation);
  }

 private:
  /// By what the message itself says; without that by what was agreed on.
  bool choose_era() {
    if (session_.only_stateless() || mcp::is_stateless(request_.facts)) {
      request_.dialect = &mcp::stateless_dialect();
      const auto error =
          mcp::check_facts(request_.facts, session_.only_stateless() ? &fields() : nullptr);
      if (!error || !call_.wants_answer()) return true;  // of notifications nothing is required
      refuse_meta(*error);
      return false;
    }
    if (session_.dialect()) {
      request_.dialect = session_.dialect();
      return true;
    }
    // Nothing is agreed on yet. A stateless request that lacks its _meta is told what is missing.
    request_.dialect = &mcp::newest_stateful();
    const mcp::Method* method = request_.dialect->find(request_.method, mcp::Side::server);
    if (!call_.wants_answer()) {
      request_.dialect = &mcp::stateless_dialect();  // "cancelled" needs no agreement
      return true;
    }
    if (method &&
        (method->operation == Operation::initialize || method->operation == Operation::ping)) {
      return true;
    }
    if (!method && mcp::stateless_dialect().find(request_.method, mcp::Side::server)) {
      call_.fail(mcp::missing_meta(mcp::meta_key::protocol_version));
    } else {
      call_.fail(rpc::invalid_request(
          "send \"initialize\" first, or put \"" + std::string(mcp::meta_key::protocol_version) +
          "\" and \"" + std::string(mcp::meta_key::client_capabilities) + "\" into params/_meta"));
    }
    return false;
  }

  /// It does not say in its _meta what each message must: no request at all. Wrong arguments are an
  /// answer like any other.
  void refuse_meta(Error error) {
    static const auto bad_request =
        std::make_shared<const HttpError>(HttpError{.status = 400, .fields = {}});
    error.http = bad_request;
    call_.fail(std::move(error));
  }

  void operate(Operation operation) {
    switch (operation) {
      case Operation::call_tool:
        return call_tool();
      case Operation::get_prompt:
        return get_prompt();
      case Operation::read_resource:
        return read_resource();
      case Operation::list_tools:
        return list(ListKind::tools, capabilities().tools.has_value());
      case Operation::list_prompts:
        return list(ListKind::prompts, capabilities().prompts.has_value());
      case Operation::list_resources:
        return list(ListKind::resources, capabilities().resources.has_value());
      case Operation::list_templates:
        return list(ListKind::templates, capabilities().resources.has_value());
      case Operation::complete:
        return complete();
      case Operation::initialize:
        return initialize();
      case Operation::discover:
        return discover();
      case Operation::ping:
        return empty();
      case Operation::set_level:
        return set_level();
      case Operation::subscribe:
        return subscribe(true);
      case Operation::unsubscribe:
        return subscribe(false);
      case Operation::listen:
        return listen();
      case Operation::initialized:
        session_.set_initialized();
        return noted();
      case Operation::cancelled:
        return cancelled();
      default:
        return noted();
    }
  }

  // Helpers.

  /// False if what the header fields say contradicts the message, which has been answered then.
  bool agrees(std::optional<Error> error) {
    if (error) call_.fail(*std::move(error));
    return !error;
  }
  bool name_agrees() {
    return !session_.only_stateless() ||
           agrees(mcp::check_name(fields(), request_.method, request_.params));
  }

  const mcp::Dialect& dialect() const { return *request_.dialect; }
  const rpc::HeaderFields& fields() { return call_.context().facts().fields; }
  const Limits& limits() { return session_.server().options.limits; }
  /// What this client was promised; a stateless one is promised nothing beyond the moment.
  const ServerCapabilities& capabilities() {
    return dialect().stateless ? *session_.catalog()->capabilities() : session_.promised();
  }
  void unknown_method() { call_.fail(rpc::method_not_found(request_.method)); }
  /// A notification needs no answer.
  void noted() {
    call_.begin_result().null();
    call_.end_result();
  }
  json::Writer& begin() {
    json::Writer& writer = call_.begin_result();
    write_result_begin(writer, dialect());
    return writer;
  }
  void end(json::Writer& writer, const CacheHint* cache = nullptr) {
    write_result_end(writer, dialect(), session_.server(), nullptr, cache);
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

  // The lifecycle.

  void initialize() {
    if (call_.in_batch()) {
      return call_.fail(rpc::invalid_request("\"initialize\" must not be part of a batch"));
    }
    if (session_.dialect()) {
      return call_.fail(rpc::invalid_request(
          "this session has had its handshake; a second \"initialize\" needs a new one"));
    }
    Result<mcp::Handshake> handshake = mcp::read_initialize(request_.params);
    if (!handshake) return call_.fail(std::move(handshake).error());
    if (auto error = introduction_error(handshake->client)) return call_.fail(*std::move(error));
    const mcp::Dialect& agreed = *handshake->dialect;
    const auto promised = session_.catalog()->capabilities();
    const Server::Impl& server = session_.server();
    // Written before anything is agreed on: if this throws, the client may try again.
    mcp::write_initialize_result(call_.begin_result(), agreed,
                                 json::encode(mcp::fitted(*promised, agreed)), server.info,
                                 server.options.instructions);
    session_.set_identity(facts().identity);
    if (auto error = session_.begin(
            agreed, promised,
            Caller{std::move(handshake->client), std::move(handshake->capabilities)})) {
      return call_.fail(*std::move(error));
    }
    rpc::Rules rules = session_.peer().rules();
    rules.batch = agreed.batches;
    session_.peer().set_rules(rules);
    call_.end_result();
  }

  /// What is wrong with the lengths of what a client says about itself.
  std::optional<Error> introduction_error(const Implementation& client) {
    const std::size_t most = limits().name_bytes;
    std::optional<Error> error = too_long("/clientInfo/name", client.name, most);
    if (!error) error = too_long("/clientInfo/version", client.version, most);
    if (!error) error = too_long("/clientInfo/title", client.title.value_or(""), most);
    if (!error) {
      error =
          too_long("/clientInfo/websiteUrl", client.websiteUrl.value_or(""), limits().uri_bytes);
    }
    return error;
  }

  void discover() {
    const Server::Impl& server = session_.server();
    json::Writer& writer = begin();
    writer.key("supportedVersions");
    writer.begin_array();
    for (const std::string_view revision : revisions()) writer.value(revision);
    writer.end_array();
    writer.key("capabilities");
    json::write(writer, mcp::fitted(capabilities(), dialect()));
    if (!server.options.instructions.empty()) {
      writer.key("instructions");
      writer.value(server.options.instructions);
    }
    end(writer, &server.options.cache);
  }

  void set_level() {
    if (!capabilities().logging) return unknown_method();
    struct Params {
      LoggingLevel level{};
    };
    if (const auto params = read<Params>()) {
      session_.set_level(params->level);
      empty();
    }
  }

  void cancelled() {
    const auto id = rpc::Id::from(request_.params.find("requestId"));
    if (id) {
      session_.end_listen(*id);
      session_.peer().cancel_incoming(*id);
    }
    noted();
  }

  // Lists and completion.

  void list(ListKind kind, bool offered) {
    if (!offered) return unknown_method();
    std::optional<std::string_view> cursor;
    if (parts_.cursor) {
      cursor = parts_.cursor.as_string();
      if (!cursor) return call_.fail(rpc::invalid_params("/cursor: expected a string"));
    }
    if (!session_.server().policies.empty() || !session_.catalog()->providers(kind).empty()) {
      return own_list(kind, cursor);
    }
    const auto page = session_.catalog()->page(kind, dialect(), cursor);
    if (!page) return bad_cursor();
    json::Writer& writer = begin();
    writer.raw(*page);
    end(writer, &session_.server().options.cache);
  }

  void bad_cursor() {
    call_.fail(rpc::invalid_params("/cursor: not one of this list; begin again without a cursor"));
  }

  /// One that is made for this caller.
  void own_list(ListKind kind, std::optional<std::string_view> cursor) {
    std::optional<ListPlace> place = ListPlace{};
    if (cursor) place = read_cursor(kind, facts(), *cursor);
    const auto& catalog = session_.catalog();
    if (!place || place->source > catalog->providers(kind).size()) return bad_cursor();
    std::string entries;
    if (place->source == 0) {
      const std::optional<std::size_t> from = place->position();
      auto page = from ? visible_page(session_.server(), *catalog, kind, dialect(), facts(), *from)
                       : std::nullopt;
      if (!page) return bad_cursor();
      if (page->next) {
        return end_own_list(
            kind, page->entries,
            write_cursor(kind, facts(), ListPlace{.cursor = std::to_string(*page->next)}));
      }
      entries = std::move(page->entries);
    }
    const std::size_t first = place->source == 0 ? 0 : place->source - 1;
    const std::shared_ptr<const Entry> provided = provided_list(*catalog, kind, first);
    if (!provided) return end_own_list(kind, entries, std::nullopt);
    const std::string query =
        place->source == 0 ? "{}" : R"({"cursor":)" + json::quote(place->cursor) + "}";
    json::Document document;
    request_.arguments = made_arguments(document, query);
    Frame frame(session_, call_, request_, provided);
    frame.set_listed(std::move(entries));
    frame.run();
  }

  void end_own_list(ListKind kind, std::string_view entries,
                    const std::optional<std::string>& cursor) {
    json::Writer& writer = begin();
    write_own_list(writer, kind, entries, cursor);
    const CacheHint cache{.ttl = session_.server().options.cache.ttl};
    end(writer, &cache);
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
    return wire_error(std::move(refusal->error), dialect());
  }
  template <class E, class... More>
  bool may_see(const std::shared_ptr<const E>& entry, const More&... more) {
    return entry && (session_.server().policies.empty() ||
                     !refusal_of(session_.server(), ask_about(*entry, facts(), more...)));
  }

  void complete() {
    if (!capabilities().completions) return unknown_method();
    struct Params {
      CompletionReference ref{};
      CompletionArgument argument{};
      std::optional<CompletionContext> context{};
    };
    const auto params = read<Params>();
    if (!params) return;
    const auto& catalog = session_.catalog();
    const auto* prompt = std::get_if<PromptReference>(&params->ref);
    const auto names_resource = [&](const std::string& uri) {
      return may_see(catalog->find_template(uri)) || may_see(catalog->resource(uri));
    };
    const bool known = prompt ? may_see(catalog->prompt(prompt->name))
                              : names_resource(std::get<ResourceReference>(params->ref).uri);
    if (!known) {
      return call_.fail(rpc::invalid_params("/ref: there is no such " +
                                            std::string(prompt ? "prompt" : "resource template")));
    }
    Completion found;
    if (const Completer* completer = catalog->completer(params->ref, params->argument.name)) {
      CompletionQuery query{.argument = params->argument.name, .value = params->argument.value};
      if (params->context && params->context->arguments)
        query.context = *params->context->arguments;
      found = (*completer)(query);
    }
    if (found.values.size() > most_completions) {
      if (!found.total) found.total = static_cast<std::int64_t>(found.values.size());
      found.hasMore = true;
      found.values.resize(most_completions);
    }
    json::Writer& writer = begin();
    writer.key("completion");
    json::write(writer, found);
    end(writer);
  }

  // Subscriptions.

  void subscribe(bool on) {
    const auto& resources = capabilities().resources;
    if (!resources || !resources->subscribe.value_or(false)) return unknown_method();
    struct Params {
      std::string uri{};
    };
    auto params = read<Params>();
    if (!params) return;
    if (!on) {
      session_.unsubscribe(params->uri);
      return empty();
    }
    std::optional<Error> error = too_long("/uri", params->uri, limits().uri_bytes);
    if (!error && !could_exist(params->uri)) error = wire_error(not_found(params->uri), dialect());
    if (!error) error = session_.subscribe(std::move(params->uri));
    if (error) return call_.fail(*std::move(error));
    empty();
  }

  /// Whether there is a resource or a template for it.
  bool could_exist(std::string_view uri) {
    std::map<std::string, std::string> values;
    const auto& catalog = session_.catalog();
    if (const auto resource = catalog->resource(uri)) return may_see(resource);
    if (const auto matched = catalog->match(uri, values)) return may_see(matched, uri);
    // What providers have is known to them alone.
    return !catalog->providers(ListKind::resources).empty() &&
           !refusal_of(session_.server(),
                       {.kind = OfferKind::resource, .name = uri, .facts = facts()});
  }

  void listen() {
    struct Params {
      SubscriptionFilter notifications{};
    };
    auto params = read<Params>();
    if (!params) return;
    SubscriptionFilter& wanted = params->notifications;
    const ServerCapabilities& offered = capabilities();
    SubscriptionFilter honoured;
    Session::Listen listen;
    std::size_t bytes = 0;  // that are kept as long as it is open
    const auto honour = [&](const std::optional<bool>& asked, bool can, unsigned change,
                            std::optional<bool>& into) {
      if (!asked.value_or(false) || !can) return;
      into = true;
      listen.changes |= change;
    };
    honour(wanted.toolsListChanged, offered.tools.has_value(), tools_changed,
           honoured.toolsListChanged);
    honour(wanted.promptsListChanged, offered.prompts.has_value(), prompts_changed,
           honoured.promptsListChanged);
    honour(wanted.resourcesListChanged, offered.resources.has_value(), resources_changed,
           honoured.resourcesListChanged);
    if (wanted.resourceSubscriptions && offered.resources &&
        offered.resources->subscribe.value_or(false)) {
      honoured.resourceSubscriptions.emplace();
      for (std::string& uri : *wanted.resourceSubscriptions) {
        if (auto error = too_long("/notifications/resourceSubscriptions", uri, limits().uri_bytes))
          return call_.fail(*std::move(error));
        if (bytes > limits().session_bytes) break;  // which is refused below
        if (!could_exist(uri) || !listen.uris.insert(uri).second) continue;
        bytes += kept_size(uri);
        honoured.resourceSubscriptions->push_back(std::move(uri));
      }
    }
    const json::View filters = request_.params.find("notifications");
    json::Object honoured_others;
    for (const auto& [name, extension] : session_.catalog()->extensions()) {
      if (!declares(name)) continue;
      for (const std::string& filter : extension.listen_filters) {
        json::Array honoured_values;
        for (json::View value : filters.find(filter).items()) {
          const auto text = value.as_string();
          if (!text) continue;
          if (bytes > limits().session_bytes) break;
          if (auto error = too_long("/notifications/" + filter, *text, limits().uri_bytes))
            return call_.fail(*std::move(error));
          if (!listen.others[filter].emplace(*text).second) continue;
          bytes += kept_size(*text);
          honoured_values.emplace_back(*text);
        }
        if (!honoured_values.empty()) honoured_others.set(filter, std::move(honoured_values));
      }
    }
    const rpc::Id id = *rpc::Id::from(call_.id());
    listen.id = id.text();
    listen.identity = facts().identity;
    bytes += sizeof listen + 3 * kept_size(listen.id);  // also in the table, and in the last answer
    if (auto error = session_.kept().add(bytes)) return call_.fail(*std::move(error));
    listen.claim = KeptClaim(session_.kept(), bytes);
    // Kept by the peer alone: it holds the session, and must not be held by it.
    const std::shared_ptr<rpc::detail::InFlight> request = call_.defer();
    if (!request) return;
    listen.route = request->route();
    std::string acknowledged;
    json::Writer writer(acknowledged);
    writer.begin_object();
    writer.key("_meta");
    writer.begin_object();
    writer.key(mcp::meta_key::subscription_id);
    writer.raw(listen.id);
    writer.end_object();
    writer.key("notifications");
    json::Value all = *json::parse(json::encode(honoured));
    for (const json::Member& member : honoured_others) all[member.key] = json::Value(member.value);
    writer.value(all);
    writer.end_object();
    std::string last;
    json::Writer end_writer(last);
    write_result_begin(end_writer, dialect());
    json::Object tag;
    tag.set(std::string(mcp::meta_key::subscription_id), *json::parse(listen.id));
    write_result_end(end_writer, dialect(), session_.server(), &tag, nullptr);
    listen.on_stop = std::make_unique<std::stop_callback<std::function<void()>>>(
        request->cancelled(), [weak = std::weak_ptr(request), last = std::move(last)]() mutable {
          // If the client took it back, this says nothing any more. Moved, because nothing may
          // throw in here.
          if (const auto open = weak.lock()) open->answer(std::move(last));
        });
    if (!session_.listen(id, std::move(listen))) {
      return request->fail(rpc::internal_error("busy: too many listens on this connection"));
    }
    Rollback undo([&] { session_.end_listen(id); });  // the request fails then
    session_.peer().notify(dialect().name_of(Operation::acknowledged),
                           RawJson{std::move(acknowledged)});
    undo.dismiss();
  }

  // Tools, prompts, resources.

  void work(const std::shared_ptr<const Entry>& entry) {
    Frame frame(session_, call_, request_, entry);
    if (session_.restores_runs()) {
      if (auto run = session_.runs().take(rpc::Id::from(call_.id()))) {
        return frame.resume(*std::move(run));
      }
    }
    if (dialect().stateless && (parts_.responses || parts_.state)) {
      auto asks = resume(parts_.responses, parts_.state, *entry);
      if (!asks) return;
      frame.set_asks(std::move(asks));
      if (frame.asks_again()) return;
    }
    frame.run();
  }

  /// What an earlier round left; null if it cannot be believed, which has been answered then.
  std::unique_ptr<Asks> resume(json::View responses, json::View state, const Entry& entry) {
    if (responses && !responses.is_object()) {
      call_.fail(rpc::invalid_params("/inputResponses: expected an object"));
      return nullptr;
    }
    if (!state) {
      auto asks = std::make_unique<Asks>(Asks::begin());
      asks->take(responses, true);
      return asks;
    }
    Server::Impl& server = session_.server();
    std::optional<std::string> text;
    if (const auto sealed = state.as_string(); sealed && server.options.sealer) {
      text = server.options.sealer->open(*sealed,
                                         state_context(call_.context().facts(), request_, entry));
    }
    if (!text) {
      call_.fail(
          rpc::invalid_params("/requestState: not one that this server gave out for this request"));
      return nullptr;
    }
    Result<Asks> loaded = Asks::load(*text, server.unix_time());
    if (!loaded) {
      call_.fail(std::move(loaded).error());
      return nullptr;
    }
    auto asks = std::make_unique<Asks>(*std::move(loaded));
    asks->take(responses, false);
    std::vector<WireQuestion> again = asks->take_misfits(server.options.log);
    asks->begin_run();
    asks->suspended = !again.empty();
    asks->pending = std::move(again);
    return asks;
  }

  void call_tool() {
    if (session_.only_stateless() && !capabilities().tools) return unknown_method();
    if (!name_agrees()) return;
    std::string_view name;
    if (!parts_.name.get(name)) {
      if (!capabilities().tools) return unknown_method();
      return call_.fail(rpc::invalid_params("/name: expected the name of a tool"));
    }
    const std::shared_ptr<const ToolEntry> tool = session_.catalog()->tool(name);
    const auto unknown = [&] { return unknown_name(EntryKind::tool, name); };
    if (!tool) {
      if (!capabilities().tools) return unknown_method();
      return call_provider(ListKind::tools, OfferKind::tool, name, unknown);
    }
    if (auto error = refused(ask_about(*tool, facts()), unknown)) {
      return call_.fail(*std::move(error));
    }
    request_.arguments = parts_.arguments;
    if (session_.only_stateless() && !tool->param_headers.empty() &&
        !agrees(mcp::check_params(fields(), tool->param_headers, request_.arguments))) {
      return;
    }
    if (tool->input && !tool->checks_itself && tool->check_arguments && !arguments_fit(*tool)) {
      return;
    }
    work(tool);
  }

  /// For tools whose handler does not check its arguments itself.
  bool arguments_fit(const ToolEntry& tool) {
    const json::Validation validation = tool.check(request_.arguments);
    if (validation.ok()) return true;
    json::DecodeFailure failure;
    failure.fail(validation.text());
    const auto keep = std::shared_ptr<const Entry>(std::shared_ptr<void>(), &tool);
    Frame(session_, call_, request_, keep).bad_arguments(failure);
    return false;
  }

  void get_prompt() {
    if (!capabilities().prompts) return unknown_method();
    if (!name_agrees()) return;
    std::string_view name;
    if (!parts_.name.get(name)) {
      return call_.fail(rpc::invalid_params("/name: expected the name of a prompt"));
    }
    const std::shared_ptr<const PromptEntry> prompt = session_.catalog()->prompt(name);
    const auto unknown = [&] { return unknown_name(EntryKind::prompt, name); };
    if (!prompt) return call_provider(ListKind::prompts, OfferKind::prompt, name, unknown);
    if (auto error = refused(ask_about(*prompt, facts()), unknown)) {
      return call_.fail(*std::move(error));
    }
    request_.arguments = parts_.arguments;
    if (prompt->prompt.arguments) {
      for (const PromptArgument& argument : *prompt->prompt.arguments) {
        if (argument.required.value_or(false) && !request_.arguments.find(argument.name)) {
          return call_.fail(rpc::invalid_params("/arguments: the prompt needs the argument " +
                                                json::quote(argument.name)));
        }
      }
    }
    work(prompt);
  }

  void read_resource() {
    if (!capabilities().resources) return unknown_method();
    if (!name_agrees()) return;
    if (!parts_.uri.get(request_.uri)) {
      return call_.fail(rpc::invalid_params("/uri: expected the uri of a resource"));
    }
    if (auto error = too_long("/uri", request_.uri, limits().uri_bytes))
      return call_.fail(*std::move(error));
    const auto& catalog = session_.catalog();
    const auto unknown = [&] { return wire_error(not_found(request_.uri), dialect()); };
    if (const auto resource = catalog->resource(request_.uri)) {
      if (auto error = refused(ask_about(*resource, facts()), unknown)) {
        return call_.fail(*std::move(error));
      }
      request_.cache = &resource->cache;
      request_.mime_type = &resource->resource.mimeType;
      return work(resource);
    }
    std::map<std::string, std::string> values;
    const auto matched = catalog->match(request_.uri, values);
    if (!matched) {
      return call_provider(ListKind::resources, OfferKind::resource, request_.uri, unknown);
    }
    if (auto error = refused(ask_about(*matched, facts(), request_.uri), unknown)) {
      return call_.fail(*std::move(error));
    }
    request_.cache = &matched->cache;
    request_.mime_type = &matched->resource.mimeType;
    const std::string text = json::encode(values);
    json::Document document;
    request_.arguments = *document.parse(text);
    work(matched);
  }

  /// Something that the server was not given by name.
  void call_provider(ListKind kind, OfferKind offer, std::string_view name, const auto& unknown) {
    const std::shared_ptr<const Entry> provided = provided_call(*session_.catalog(), kind, name);
    if (!provided) return call_.fail(unknown());
    const AccessQuestion question{.kind = offer, .name = name, .facts = facts()};
    if (auto error = refused(question, unknown)) return call_.fail(*std::move(error));
    std::string text =
        std::string(kind == ListKind::resources ? R"({"uri":)" : R"({"name":)") + json::quote(name);
    if (kind != ListKind::resources) {
      text.append(R"(,"arguments":)");
      text.append(parts_.arguments ? parts_.arguments.source() : "{}");
    }
    text.push_back('}');
    json::Document document;
    request_.arguments = made_arguments(document, text);
    aim(request_, *provided);
    work(provided);
  }

  // What the program added.

  bool declares(const std::string& extension) { return request_.declares(session_, extension); }

  void custom() {
    request_.arguments = request_.params;
    const Extension* extension =
        session_.catalog()->extension_of(&Extension::methods, request_.method);
    if (extension && call_.wants_answer() && !declares(extension->id)) {
      if (!dialect().stateless) return unknown_method();
      return call_.fail(
          mcp::missing_capability("the extension " + extension->id,
                                  R"({"extensions":{)" + json::quote(extension->id) + ":{}}}"));
    }
    std::shared_ptr<const Entry> entry;
    const MethodEntry* method = session_.catalog()->method(request_.method, entry);
    if (method && method->notification != call_.wants_answer()) return work(entry);
    if (call_.wants_answer()) return unknown_method();
    noted();  // notifications nobody knows are ignored
  }

  Session& session_;
  rpc::detail::Call& call_;
  const Parts parts_;
  Request request_;
};

}  // namespace

rpc::detail::Subject Gate::subject(json::View params) const {
  const Parts parts(params);
  rpc::detail::Subject subject{.arguments = parts.arguments ? parts.arguments : params,
                               .continues = static_cast<bool>(parts.state)};
  if (!parts.name.get(subject.name)) parts.uri.get(subject.name);
  return subject;
}

void Gate::invoke(rpc::detail::Call& call) const {
  auto* const session = static_cast<Session*>(Service::session_of(call.context()));
  if (!session) {
    return call.fail(rpc::internal_error(
        "the connection was made without the options of the server (Server::peer_options)"));
  }
  Entrance(*session, call).run();
  session->trim();
}

}  // namespace godwit::inline v0::detail::server
