// Listening: a subscription that stays open where the server has that, subscriptions to resources
// and a sieve for what is announced anyway where it has not.
#include <algorithm>
#include <new>
#include <span>

#include "godwit/base/rollback.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

using detail::client::Channel;
using mcp::Operation;

namespace {

bool wants_nothing(const SubscriptionFilter& filter) {
  return !filter.toolsListChanged.value_or(false) && !filter.promptsListChanged.value_or(false) &&
         !filter.resourcesListChanged.value_or(false) &&
         (!filter.resourceSubscriptions || filter.resourceSubscriptions->empty());
}

/// What is left of a wish that this server can fulfil.
SubscriptionFilter possible(SubscriptionFilter filter, const ServerCapabilities& has) {
  const auto announces = [](const auto& capability) {
    return capability && capability->listChanged.value_or(false);
  };
  if (!announces(has.tools)) filter.toolsListChanged.reset();
  if (!announces(has.prompts)) filter.promptsListChanged.reset();
  if (!announces(has.resources)) filter.resourcesListChanged.reset();
  if (!has.resources || !has.resources->subscribe.value_or(false)) {
    filter.resourceSubscriptions.reset();
  }
  return filter;
}

/// Is this the resource, or a part of it?
bool covers(const std::string& subscribed, std::string_view uri) {
  if (!uri.starts_with(subscribed)) return false;
  return uri.size() == subscribed.size() || subscribed.ends_with('/') ||
         uri[subscribed.size()] == '/' || uri[subscribed.size()] == '#';
}

bool wants(const Channel& channel, Operation change, std::string_view uri) {
  const SubscriptionFilter& filter = channel.honoured;
  switch (change) {
    case Operation::tools_changed:
      return filter.toolsListChanged.value_or(false);
    case Operation::prompts_changed:
      return filter.promptsListChanged.value_or(false);
    case Operation::resources_changed:
      return filter.resourcesListChanged.value_or(false);
    default:
      return filter.resourceSubscriptions &&
             std::any_of(filter.resourceSubscriptions->begin(), filter.resourceSubscriptions->end(),
                         [&](const std::string& each) { return covers(each, uri); });
  }
}

std::string uri_member(const std::string& uri) { return "\"uri\":" + json::quote(uri); }

}  // namespace

Listen ClientSession::State::listen(SubscriptionFilter filter, ListenCallbacks callbacks) {
  const auto self = shared_from_this();
  auto channel = std::make_shared<Channel>();
  channel->wanted = std::move(filter);
  channel->callbacks = std::move(callbacks);
  std::optional<Error> error = refusal("listen");
  if (!error) {
    channel->honoured = possible(channel->wanted, welcome.capabilities);
    if (wants_nothing(channel->wanted)) {
      error = rpc::invalid_params("the filter names nothing to listen for; nothing was sent");
    } else if (wants_nothing(channel->honoured)) {
      error = Error{.code = rpc::code::method_not_found,
                    .message =
                        "the server does not declare that it announces any of these "
                        "changes; nothing was sent"};
    }
  }
  if (error) {
    run("ended threw", channel->callbacks.ended, Result<void>(*std::move(error)));
    return {};
  }
  channel->number = ++last_number;
  channels.emplace(channel->number, channel);
  Rollback undo([&] {  // the caller gets the exception, and nothing else
    channels.erase(channel->number);
    channel->callbacks = {};
    cancel_channel(*channel, "no longer of interest");
  });
  if (const auto request = codec->message_for(mcp::Wish::changes)) {
    open_by_call(channel, *request);
  } else {
    open_by_resources(channel);
  }
  undo.dismiss();
  return Listen([weak = weak_from_this(), number = channel->number] {
    if (const auto state = weak.lock()) state->end_channel(number);
  });
}

void ClientSession::State::open_by_call(const ChannelPtr& channel, Operation request) {
  const std::string_view method = codec->name_of(request);
  channel->by_call = true;
  channel->honoured = {};  // until the server says so
  RawJson params;
  json::Writer writer(params.text);
  writer.begin_object();
  writer.key("notifications");
  json::write(writer, channel->wanted);
  writer.key("_meta");
  writer.raw("{" + introduction + "}");
  writer.end_object();
  const rpc::CallHandle call = peer->call<detail::client::ResultView>(
      method, params,
      [self = shared_from_this(), channel](Result<detail::client::ResultView> outcome) {
        self->lose_channel(channel,
                           outcome ? Result<void>() : Result<void>(std::move(outcome).error()));
      },
      {.timeout = Duration::max(),
       .fields = fields_beside(*codec, method),
       .tag = channel->number});
  if (!channels.contains(channel->number) || !peer) return;  // it ended at once
  channel->call = call;
  channel->id = peer->id_of(call);
  if (!channel->acknowledged) limit_patience(channel, options.limits.call_timeout);
}

void ClientSession::State::limit_patience(const ChannelPtr& channel, Duration left) {
  auto lose = [self = shared_from_this(), channel] {
    const auto late = [] {
      return Error{.code = rpc::code::request_timeout,
                   .message = "the server did not acknowledge the subscription",
                   .cause = Cause::timeout};
    };
    self->lose_channel(channel, or_out_of_memory(late, Cause::timeout, rpc::code::request_timeout));
  };
  channel->patience = peer->schedule(left, std::move(lose));
}

void ClientSession::State::open_by_resources(const ChannelPtr& channel) {
  const auto uris = channel->honoured.resourceSubscriptions.value_or(std::vector<std::string>());
  channel->subscribing = uris.size();
  for (const std::string& uri : uris) watch(channel, uri);
  if (uris.empty()) acknowledge(channel);
}

void ClientSession::State::watch(const ChannelPtr& channel, const std::string& uri) {
  if (++watched[uri] > 1) return on_subscribed(channel->number, uri, true);
  Rollback undo([&] { watched.erase(uri); });
  ask(Operation::subscribe, {.members = uri_member(uri)}, {},
      [self = shared_from_this(), channel, uri](Result<json::View> outcome) {
        try {
          self->on_subscribed(channel->number, uri, outcome.has_value());
        } catch (const std::bad_alloc&) {
          self->lose_channel(channel, out_of_memory());
        }
        if (outcome) return;
        self->options.log.limited(LogLevel::warning, "cannot subscribe to " + json::quote(uri) +
                                                         ": " + outcome.error().message);
      });
  undo.dismiss();
}

void ClientSession::State::on_subscribed(std::uint64_t number, const std::string& uri, bool good) {
  if (!good) watched.erase(uri);
  const auto found = channels.find(number);
  if (found == channels.end()) return;
  const ChannelPtr channel = found->second;
  auto& uris = *channel->honoured.resourceSubscriptions;
  if (!good) uris.erase(std::remove(uris.begin(), uris.end(), uri), uris.end());
  if (--channel->subscribing > 0) return;
  if (wants_nothing(channel->honoured)) {
    return lose_channel(channel, rpc::internal_error("the server accepted none of the "
                                                     "subscriptions"));
  }
  acknowledge(channel);
}

void ClientSession::State::unwatch(const std::string& uri) {
  const auto found = watched.find(uri);
  if (found == watched.end() || --found->second > 0) return;
  watched.erase(found);
  if (phase != Phase::ready) return;
  ask(Operation::unsubscribe, {.members = uri_member(uri)}, {}, [](Result<json::View>) {});
}

void ClientSession::State::end_channel(std::uint64_t number) noexcept {
  const auto self = shared_from_this();
  const auto found = channels.find(number);
  if (found == channels.end()) return;
  const ChannelPtr channel = found->second;
  channels.erase(found);
  channel->callbacks = {};
  if (!peer) return;
  if (channel->by_call) return cancel_channel(*channel, "no longer of interest");
  if (!channel->honoured.resourceSubscriptions) return;
  try {
    for (const std::string& uri : *channel->honoured.resourceSubscriptions) unwatch(uri);
  } catch (...) {
    options.log.caught("the server was not told that nobody listens any more");
  }
}

void ClientSession::State::channels_end_silently() noexcept {
  while (!channels.empty()) end_channel(channels.begin()->first);
}

void ClientSession::State::lose_channel(const ChannelPtr& channel, Result<void> outcome) noexcept {
  const auto self = shared_from_this();
  channels.erase(channel->number);
  const auto ended = std::exchange(channel->callbacks, {}).ended;
  // What the server ended, or never began, need not be cancelled, but its answer may be awaited.
  quiet = outcome.has_value();
  cancel_channel(*channel, "it is over");
  quiet = false;
  run("ended threw", ended, std::move(outcome));
}

void ClientSession::State::cancel_channel(Channel& channel, std::string_view reason) noexcept {
  if (!peer) return;
  peer->unschedule(channel.patience);
  try {
    peer->cancel(std::exchange(channel.call, {}), reason);
  } catch (...) {
    options.log.caught("the server was not told that nobody listens any more");
  }
}

void ClientSession::State::acknowledge(const ChannelPtr& channel) {
  if (channel->acknowledged) return;
  const auto callback = channel->callbacks.acknowledged;
  channel->acknowledged = true;
  if (peer) peer->unschedule(channel->patience);
  run("acknowledged threw", callback, channel->honoured);
}

ClientSession::State::ChannelPtr ClientSession::State::channel_of(json::View subscription) {
  const auto id = rpc::Id::from(subscription);
  if (!subscription || !id) return nullptr;
  ChannelPtr sending;
  for (const auto& [number, channel] : channels) {
    if (!channel->by_call) continue;
    if (channel->id == id) return channel;
    if (!channel->id) sending = channel;
  }
  // An acknowledgement that comes while the request is still being sent names it first.
  if (sending) sending->id = id;
  return sending;
}

bool ClientSession::State::tell_change(Operation change, json::View params,
                                       const std::string& uri) {
  std::vector<ChannelPtr> concerned;
  const mcp::Audience audience = codec ? codec->audience_of(params) : mcp::Audience();
  if (!audience.is_everybody) {
    const ChannelPtr channel = channel_of(audience.subscription);
    if (!channel || !channel->acknowledged) {
      options.log.limited(LogLevel::warning,
                          "a change of no subscription, or of one that the server has not "
                          "acknowledged, is ignored");
      return false;
    }
    concerned.push_back(channel);
  } else {
    for (const auto& [number, channel] : channels) concerned.push_back(channel);
  }
  bool told = audience.is_everybody;
  for (const ChannelPtr& channel : concerned) {
    if (!channel->acknowledged || !wants(*channel, change, uri)) continue;
    told = true;
    const ListenCallbacks callbacks = channel->callbacks;
    if (change == Operation::tools_changed) run("tools_changed threw", callbacks.tools_changed);
    if (change == Operation::prompts_changed) {
      run("prompts_changed threw", callbacks.prompts_changed);
    }
    if (change == Operation::resources_changed) {
      run("resources_changed threw", callbacks.resources_changed);
    }
    if (change == Operation::resource_updated) {
      run("resource_updated threw", callbacks.resource_updated, uri);
    }
  }
  return told && phase != Phase::ended;  // one of them may have destroyed the session
}

}  // namespace godwit::inline v0
