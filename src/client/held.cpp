// Calls that are held up on this side, by a login for example: what the server is given to answer
// is not spent meanwhile.
#include <algorithm>
#include <new>

#include "session_state.hpp"

namespace godwit::inline v0 {

void ClientSession::State::held(std::uint64_t number, bool held) noexcept {
  const auto self = shared_from_this();
  if (!peer) return;
  if (number == 0) return start_held(held);
  if (const auto found = exchanges.find(number); found != exchanges.end()) {
    return exchange_held(*found->second, held);
  }
  const auto found = channels.find(number);
  if (found != channels.end()) channel_held(ChannelPtr(found->second), held);
}

void ClientSession::State::start_held(bool held) {
  if (phase != Phase::starting) return;
  if (held) {
    if (start_end.number == 0) return;
    start_left = std::max(start_end.when - now(), Duration(0));
    return peer->unschedule(std::exchange(start_end, {}));
  }
  const auto left = std::exchange(start_left, std::nullopt);
  if (!left) return;
  try {
    limit_start(*left, start_within);
  } catch (const std::bad_alloc&) {
    fail_start(out_of_memory());
  }
}

void ClientSession::State::exchange_held(detail::client::Exchange& exchange, bool held) {
  if (held) {
    exchange.held_since = now();
    return;
  }
  const Duration time = now() - exchange.held_since;
  detail::client::put_off(exchange.hard_end, time);
  if (exchange.whole_end) detail::client::put_off(*exchange.whole_end, time);
}

void ClientSession::State::channel_held(const ChannelPtr& channel, bool held) {
  if (channel->acknowledged || channel->patience.number == 0) return;
  if (held) {
    channel->patience_left = std::max(channel->patience.when - now(), Duration(0));
    return peer->unschedule(channel->patience);
  }
  try {
    limit_patience(channel, channel->patience_left);
  } catch (const std::bad_alloc&) {
    lose_channel(channel, out_of_memory());
  }
}

}  // namespace godwit::inline v0
