// The part of a Frame and a Late that does effects once: what happens while a ledger takes its
// time.
#include <algorithm>

#include "frame.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Between two looks whether somebody else is still doing an effect: twice as long each time, so
/// that short ones are soon found done and long ones cost the ledger little.
constexpr Duration first_pause = std::chrono::milliseconds(20);
constexpr Duration longest_pause = std::chrono::seconds(1);

/// Without running over the end of time, which is what Duration::max() asks for.
TimePoint later(TimePoint now, Duration by) {
  return by > TimePoint::max() - now ? TimePoint::max() : now + by;
}

}  // namespace

// In a run of the handler.

Effects& Frame::effects() {
  Asks& all = asks();
  if (!all.effects) {
    const ServerOptions& options = session_.server().options;
    all.effects.set(std::make_shared<Effects>(options.ledger, all.chain, options.log));
  }
  return *all.effects;
}

Error Frame::wait_for_ledger(std::size_t to_pass) {
  asks().suspended = true;
  asks().to_pass = to_pass;
  return suspended();
}

Result<std::optional<std::string>> Frame::begin_once(std::string_view key) {
  Asks& all = asks();
  if (all.suspended) return suspended();
  if (const auto at = all.done.find(key); at != all.done.end()) {
    ++all.passed;
    return std::optional<std::string>(at->second);
  }
  Effects& effects = this->effects();
  switch (effects.begin(key)) {
    case Effects::Stage::claimed:
      ++all.passed;
      // While the peer's own thread is busy with it, nothing could be renewed anyway.
      if (late_ && !late_->at_home()) late_->keep_claims();
      return std::optional<std::string>();
    case Effects::Stage::done: {
      ++all.passed;
      std::string& kept = all.done[std::string(key)];
      kept = effects.take_result();
      return std::optional<std::string>(kept);
    }
    case Effects::Stage::running:
      if (session_.server().options.once_wait > Duration(0)) break;
      effects.give_up();
      [[fallthrough]];
    case Effects::Stage::failed:
      ++all.passed;
      return effects.take_error();
    case Effects::Stage::waiting:
    case Effects::Stage::none:
      break;
  }
  return wait_for_ledger(all.passed + 1);
}

Result<std::optional<std::string>> Frame::end_once(std::string_view key, std::string result) {
  Asks& all = asks();
  Effects& effects = this->effects();
  switch (effects.complete(key, std::move(result))) {
    case Effects::Stage::done: {
      bool own = false;
      std::string& kept = all.done[std::string(key)];
      kept = effects.take_result(&own);
      if (own) return std::optional<std::string>();
      return std::optional<std::string>(kept);
    }
    case Effects::Stage::failed:
      return effects.take_error();
    default:
      return wait_for_ledger(all.passed);
  }
}

void Frame::drop_once(std::string_view key) noexcept {
  if (asks_ && asks_->effects) asks_->effects->drop(key);
}

// Between two runs.

void Late::wait_for_ledger() {
  session_->post([self = shared_from_this()] { self->begin_waiting(); });
}

void Late::begin_waiting() {
  wait_end_ = later(session_->peer().options().clock->now(), session_->server().options.once_wait);
  wait_pause_ = first_pause;
  keep_claims();
  look_at_ledger();
}

void Late::look_at_ledger() {
  const auto alive = shared_from_this();
  if (!in_flight_->wanted()) return end_waiting();  // what was claimed is given back with this call
  Asks& asks = *frame_->asks_;
  Effects& effects = *asks.effects;
  const Effects::Stage stage = effects.look();  // which may run code of the ledger
  if (session_->poster().closed()) return;
  switch (stage) {
    case Effects::Stage::waiting:
      effects.await(rpc::PreparedPost(session_->poster(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->look_at_ledger();
      }));
      return wait_until(wait_end_);
    case Effects::Stage::running: {
      const TimePoint now = session_->peer().options().clock->now();
      const Duration pause = std::exchange(wait_pause_, std::min(wait_pause_ * 2, longest_pause));
      return wait_until(std::min(later(now, pause), wait_end_));
    }
    case Effects::Stage::done: {
      std::string& kept = asks.done[effects.key()];
      kept = effects.take_result();
      break;
    }
    default:
      break;
  }
  end_waiting();
  keep_claims();
  replay();
}

void Late::end_waiting() {
  if (wait_timer_) session_->peer().unschedule(*std::exchange(wait_timer_, std::nullopt));
}

void Late::wait_until(TimePoint when) {
  rpc::Peer& peer = session_->peer();
  if (wait_timer_ && wait_timer_->when == when) return;
  const auto self = shared_from_this();
  const std::optional<rpc::TimerHandle> before = wait_timer_;
  const Duration left = when - peer.options().clock->now();
  wait_timer_ = peer.schedule(std::max(left, Duration(0)), [self] { self->waited(); });
  if (before) peer.unschedule(*before);
}

void Late::waited() {
  wait_timer_.reset();
  if (!in_flight_->wanted()) return;
  Effects& effects = *frame_->asks_->effects;
  if (session_->peer().options().clock->now() >= wait_end_) {
    effects.give_up();
  } else {
    effects.claim_again();
  }
  if (!session_->poster().closed()) look_at_ledger();
}

// Leases.

void Late::keep_claims() {
  const std::shared_ptr<Effects>& effects = frame_->asks_->effects.get();
  if (!effects->begin_renewing()) return;
  session_->post([weak = weak_from_this(), effects] {
    if (const auto self = weak.lock()) self->renew_later(effects);
  });
}

void Late::renew_later(std::shared_ptr<Effects> effects) {
  renew_timer_.reset();
  const std::optional<Duration> after = effects->renew_after();
  if (!after) return;
  renew_timer_ = session_->peer().schedule(*after, [weak = weak_from_this(), effects] {
    const auto self = weak.lock();
    if (!self) return;
    effects->renew();
    if (!self->session_->poster().closed()) self->renew_later(effects);
  });
}

}  // namespace godwit::inline v0::detail::server
