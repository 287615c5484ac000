#include "conversation.hpp"

#include <algorithm>

namespace godwit::inline v0::detail {

Conversation::Conversation(Endpoint::Impl& endpoint)
    : endpoint_(endpoint), number_(++endpoint.last_number) {
  peer_ = std::make_unique<rpc::Peer>(
      *this, endpoint.router, endpoint.peer_options,
      rpc::PeerHooks{.wake = [ready = endpoint.ready, number = number_] { ready->add(number); },
                     .deadline_moved = [this] { rearm(); }});
  endpoint_.conversations.emplace(number_, this);
}

Conversation::~Conversation() {
  endpoint_.conversations.erase(number_);
  if (armed_) endpoint_.deadlines.erase({*armed_, number_});
}

void Conversation::expire(TimePoint now) {
  peer_->expire(now);
  own_expire(now);
  rearm();
}

void Conversation::rearm() {
  if (!peer_) return;  // it is just being made
  std::optional<TimePoint> next = own_deadline();
  if (const auto other = peer_->next_deadline(); other && (!next || *other < *next)) next = other;
  if (next == armed_) return;
  if (armed_) endpoint_.deadlines.erase({*armed_, number_});
  armed_ = next;
  if (!next) return;
  const auto at = endpoint_.deadlines.emplace(*next, number_).first;
  if (at == endpoint_.deadlines.begin() && endpoint_.options.deadline_moved) {
    endpoint_.options.deadline_moved();
  }
}

}  // namespace godwit::inline v0::detail
