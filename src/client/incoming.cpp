// What the server sends on its own: requests, where its era has them, and notifications.
#include <algorithm>
#include <new>

#include "godwit/json/decode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

using mcp::Operation;

namespace {

void answer_nothing(rpc::detail::Call& call) {
  json::Writer& writer = call.begin_result();
  writer.begin_object();
  writer.end_object();
  call.end_result();
}

}  // namespace

void ClientSession::State::receive(rpc::detail::Call& call) {
  const auto self = shared_from_this();
  const std::string_view method = call.context().method();
  // Before anything is agreed on, the words that all have in common.
  const mcp::Codec& spoken = codec ? *codec : eras.newest_by_handshake();
  if (!call.wants_answer()) {
    return receive_notification(call, spoken.find(method, mcp::Side::client));
  }
  struct Request final : mcp::ServerRequest {
    Request(State& receiver, rpc::detail::Call& received) : state(receiver), call(received) {}
    void serve(const mcp::Method* row) override { state.receive_request(call, row); }
    void ignore() override { state.ignore_request(call); }
    State& state;
    rpc::detail::Call& call;
  } request(*this, call);
  spoken.receive(method, request);
}

void ClientSession::State::ignore_request(rpc::detail::Call& call) {
  if (const auto dropped = call.defer()) peer->cancel_incoming(*rpc::Id::from(call.id()));
  options.log.limited(LogLevel::warning,
                      "the server sent the request " +
                          json::quote(call.context().method().substr(0, 200)) +
                          ", which servers of its revision must not; it is not answered");
}

void ClientSession::State::receive_request(rpc::detail::Call& call, const mcp::Method* row) {
  const std::string_view method = call.context().method();
  if (!row || row->notification) return call.fail(rpc::method_not_found(method));
  if (row->operation == Operation::ping) return answer_nothing(call);
  if (phase != Phase::ready) {
    return call.fail(rpc::invalid_request("nothing but ping before the handshake is done"));
  }
  auto question = read_question(row->operation, call.params());
  if (!question) return call.fail(std::move(question).error());
  const std::shared_ptr<rpc::detail::InFlight> request = call.defer();
  if (!request) return;
  auto respond = [request](Result<std::string> answer) {
    if (answer) {
      request->answer(*std::move(answer));
    } else {
      request->fail(std::move(answer).error());
    }
  };
  try {
    ask_program(*std::move(question), request->cancelled(), respond);
  } catch (const std::bad_alloc&) {
    respond(out_of_memory());
  }
}

void ClientSession::State::receive_notification(rpc::detail::Call& call, const mcp::Method* row) {
  const json::View params = call.params();
  if (!row || !row->notification) {
    run("on_notification threw", options.on_notification, std::string(call.context().method()),
        RawJson{std::string(params ? params.source() : "{}")});
    return answer_nothing(call);
  }
  if (auto error = take_notification(row->operation, params)) return call.fail(*std::move(error));
  answer_nothing(call);
}

std::optional<Error> ClientSession::State::take_notification(Operation operation,
                                                             json::View params) {
  switch (operation) {
    case Operation::log_message: {
      const auto message = json::decode<LoggingMessage>(params);
      if (!message) return message.error();
      run("on_log threw", options.on_log, *message);
      break;
    }
    case Operation::progress: {
      const auto progress = json::decode<Progress>(params);
      if (!progress) return progress.error();
      take_progress(*progress);
      break;
    }
    case Operation::cancelled:
      take_cancelled(params);
      break;
    case Operation::acknowledged:
      return take_acknowledgement(params);
    case Operation::elicitation_complete: {
      const auto id = params.find("elicitationId").as_string();
      if (!id) return rpc::invalid_params("/elicitationId: expected a string");
      run("on_elicitation_complete threw", options.on_elicitation_complete, std::string(*id));
      break;
    }
    case Operation::tools_changed:
      cache.drop(Operation::list_tools);
      if (tell_change(operation, params, {}))
        run("on_tools_changed threw", options.on_tools_changed);
      break;
    case Operation::prompts_changed:
      cache.drop(Operation::list_prompts);
      if (tell_change(operation, params, {}))
        run("on_prompts_changed threw", options.on_prompts_changed);
      break;
    case Operation::resources_changed:
      cache.drop(Operation::list_resources);
      cache.drop(Operation::list_templates);
      if (tell_change(operation, params, {})) {
        run("on_resources_changed threw", options.on_resources_changed);
      }
      break;
    case Operation::resource_updated: {
      const auto uri = params.find("uri").as_string();
      if (!uri) return rpc::invalid_params("/uri: expected a string");
      const std::string changed(*uri);
      cache.drop_reads(changed);
      if (tell_change(operation, params, changed)) {
        run("on_resource_updated threw", options.on_resource_updated, changed);
      }
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

std::optional<Error> ClientSession::State::take_acknowledgement(json::View params) {
  const ChannelPtr channel = channel_of(mcp::subscription_of(params));
  if (!channel) return rpc::invalid_params("no such subscription");
  try {
    auto honoured = json::decode<SubscriptionFilter>(params.find("notifications"));
    if (!honoured) return std::move(honoured).error();
    if (!channel->acknowledged) channel->honoured = *std::move(honoured);
    acknowledge(channel);
  } catch (const std::bad_alloc&) {  // it does not come again
    lose_channel(channel, out_of_memory());
  }
  return std::nullopt;
}

void ClientSession::State::take_progress(const Progress& progress) {
  const auto number = progress.progressToken.id().integer();
  const auto found = number ? exchanges.find(static_cast<std::uint64_t>(*number)) : exchanges.end();
  if (found == exchanges.end() || !found->second->options.on_progress) return;
  const ExchangePtr exchange = found->second;
  // It must rise; what does not is no sign of life.
  if (exchange->last_progress && progress.progress <= *exchange->last_progress) return;
  exchange->last_progress = progress.progress;
  if (peer && exchange->call.number != 0) {
    const Duration left = std::max(exchange->hard_end - now(), Duration(0));
    peer->extend(exchange->call, std::min(timeout_of(exchange->options), left));
  }
  const auto callback = exchange->options.on_progress;
  run("on_progress threw", callback, progress);
}

void ClientSession::State::take_cancelled(json::View params) {
  const auto id = rpc::Id::from(params.find("requestId"));
  if (!id || !peer) return;
  // A subscription, to end it, or a request of its own.
  if (const ChannelPtr channel = channel_of(params.find("requestId"))) {
    return lose_channel(channel, {});
  }
  peer->cancel_incoming(*id);
}

}  // namespace godwit::inline v0
