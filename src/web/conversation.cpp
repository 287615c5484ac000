#include "conversation.hpp"

#include <algorithm>

namespace godwit::inline v0::detail::web {

Conversation::Conversation(Endpoint::Impl& endpoint)
    : endpoint_(endpoint),
      number_(++endpoint.last_number),
      ready_(std::make_shared<ReadyPlace>(ReadyPlace{.conversation = number_})) {
  peer_ = std::make_unique<rpc::Peer>(
      *this, endpoint.router, endpoint.peer_options,
      rpc::PeerHooks{.wake = [list = endpoint.ready, place = ready_] { list->add(place); },
                     .deadline_moved = [this] { rearm(); }});
  endpoint_.conversations.emplace(number_, this);
}

Conversation::~Conversation() {
  endpoint_.forget_ended(*this);
  endpoint_.conversations.erase(number_);
  if (armed_) endpoint_.deadlines.erase({*armed_, number_});
}

void Conversation::expire(TimePoint now) {
  peer_->expire(now);
  own_expire(now);
  rearm();
}

void Conversation::rearm() {
  if (!peer_ || endpoint_.orphaned) return;  // it is just being made, or nobody looks any more
  std::optional<TimePoint> next = own_deadline();
  if (const auto other = peer_->next_deadline(); other && (!next || *other < *next)) next = other;
  if (next == armed_) return;
  if (armed_) spare_ = endpoint_.deadlines.extract({*armed_, number_});
  armed_.reset();
  if (!next) return;
  auto at = endpoint_.deadlines.end();
  if (spare_) {
    spare_.value().first = *next;
    at = endpoint_.deadlines.insert(std::move(spare_)).position;
  } else {
    at = endpoint_.deadlines.emplace(*next, number_).first;
  }
  armed_ = next;
  if (at == endpoint_.deadlines.begin() && endpoint_.options.deadline_moved) {
    endpoint_.options.deadline_moved();
  }
}

}  // namespace godwit::inline v0::detail::web
