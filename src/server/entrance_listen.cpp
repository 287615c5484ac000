// Subscriptions: to one resource, and to whatever a client listens for.
#include "entrance.hpp"
#include "godwit/base/rollback.hpp"

namespace godwit::inline v0::detail::server {

using mcp::Operation;

void Entrance::subscribe(bool on) {
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
  if (!error && !could_exist(params->uri)) error = codec().wire_error(not_found(params->uri));
  if (!error) error = session_.subscribe(std::move(params->uri));
  if (error) return call_.fail(*std::move(error));
  empty();
}

bool Entrance::could_exist(std::string_view uri) {
  std::map<std::string, std::string> values;
  const auto& catalog = session_.catalog();
  if (const auto resource = catalog->resource(uri)) return may_see(resource);
  if (const auto matched = catalog->match(uri, values)) return may_see(matched, uri);
  // What providers have is known to them alone.
  return !catalog->providers(ListKind::resources).empty() &&
         !refusal_of(session_.server(),
                     {.kind = OfferKind::resource, .name = uri, .facts = facts()});
}

void Entrance::listen() {
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
  listen.codec = &codec();
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
  writer.key(codec().subscription_key());
  writer.raw(listen.id);
  writer.end_object();
  writer.key("notifications");
  json::Value all = *json::parse(json::encode(honoured));
  for (const json::Member& member : honoured_others) all[member.key] = json::Value(member.value);
  writer.value(all);
  writer.end_object();
  std::string last;
  json::Writer end_writer(last);
  codec().begin_result(end_writer);
  json::Object tag;
  tag.set(std::string(codec().subscription_key()), *json::parse(listen.id));
  write_result_end(end_writer, codec(), session_.server(), &tag, nullptr);
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
  session_.peer().notify(codec().name_of(Operation::acknowledged),
                         RawJson{std::move(acknowledged)});
  undo.dismiss();
}

}  // namespace godwit::inline v0::detail::server
