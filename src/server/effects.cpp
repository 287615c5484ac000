#include "effects.hpp"

#include <algorithm>
#include <utility>

#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// How often an effect that was done here is claimed again after somebody took the claim over.
constexpr unsigned most_tries = 3;

/// A ledger with shorter leases is asked no more often than that.
constexpr Duration shortest_renewal = std::chrono::milliseconds(10);

Error not_claimed(std::string_view key) {
  return rpc::internal_error(json::quote(key) +
                             " was not done: the server could not make sure that it is done only "
                             "once; try again later");
}

Error not_kept(std::string_view key) {
  return rpc::internal_error(json::quote(key) +
                             " was done, but the server could not note that; if the request is "
                             "sent again, it may be done again");
}

Error busy(std::string_view key) {
  return Error{.code = rpc::code::internal_error,
               .message = "busy: " + json::quote(key) +
                          " is being done for another copy of this request; try again later"};
}

}  // namespace

// For a run of the handler.

Effects::Stage Effects::begin(std::string_view key) {
  if (stage_ == Stage::failed && key_ == key) return stage_;
  {
    const std::lock_guard lock(mutex_);
    if (Held* const held = find(key); held && !held->used) {
      held->used = true;
      return Stage::claimed;
    }
    key_ = key;
  }
  own_result_.reset();
  tries_ = 0;
  start(Operation::claim);
  const Stage stage = look();
  if (stage == Stage::claimed) {
    const std::lock_guard lock(mutex_);
    if (Held* const held = find(key)) held->used = true;
  }
  return stage;
}

Effects::Stage Effects::complete(std::string_view key, std::string result) {
  {
    const std::lock_guard lock(mutex_);
    key_ = key;
  }
  own_result_ = std::move(result);
  tries_ = 0;
  start(Operation::complete);
  return look();
}

void Effects::drop(std::string_view key) noexcept {
  std::uint64_t token = 0;
  {
    const std::lock_guard lock(mutex_);
    Held* const held = find(key);
    if (!held) return;
    if (is_waiting()) {
      held->used = false;
      return;
    }
    token = held->token;
    forget(key);
  }
  release(key, token);
}

// The ledger.

void Effects::start(Operation operation) {
  stage_ = Stage::waiting;
  operation_ = operation;
  std::uint64_t number = 0;
  std::uint64_t token = 0;
  const std::string key = key_;
  {
    const std::lock_guard lock(mutex_);
    outcome_.reset();
    number = ++number_;
    if (const Held* const held = find(key)) token = held->token;
    if (operation == Operation::claim) {  // what a claim needs is there before it comes
      next_.key = key;
      held_.reserve(held_.size() + 1);
    }
  }
  const std::shared_ptr<Ledger> ledger = ledger_.lock();
  if (!ledger) return tell(number, error("the ledger is gone"));
  try {
    if (operation == Operation::claim) {
      ledger->claim(chain_, key,
                    Done<Claim>([self = shared_from_this(), number](Result<Claim> outcome) {
                      self->tell(number, std::move(outcome));
                    }));
    } else {
      ledger->complete(chain_, key, token, std::string(*own_result_),
                       Done<void>([self = shared_from_this(), number](Result<void> outcome) {
                         if (!outcome) return self->tell(number, std::move(outcome).error());
                         self->tell(number, Claim{.state = Claim::State::done});
                       }));
    }
  } catch (...) {
    log_.caught("the ledger threw");
    tell(number, Error{});
  }
}

void Effects::tell(std::uint64_t number, Result<Claim> outcome) noexcept {
  std::optional<rpc::PreparedPost> post;  // destroyed after the lock is released
  std::optional<std::string> unwanted;
  {
    const std::lock_guard lock(mutex_);
    if (number == number_ && !abandoned_) {
      if (outcome_) return;  // it threw after it had told
      outcome_ = std::move(outcome);
      post.swap(post_);
    } else if (const auto given_up = given_up_.find(number); given_up != given_up_.end()) {
      unwanted = std::move(given_up->second);
      given_up_.erase(given_up);
    } else if (abandoned_ && number == number_) {
      unwanted = std::move(key_);
    }
  }
  if (post) return (*post)();
  if (unwanted && outcome && outcome->state == Claim::State::claimed) {
    release(*unwanted, outcome->token);
  }
}

void Effects::release(std::string_view key, std::uint64_t token) noexcept {
  const std::shared_ptr<Ledger> ledger = ledger_.lock();
  if (!ledger) return;
  try {
    ledger->release(chain_, key, token,
                    Done<void>([self = shared_from_this()](Result<void> outcome) {
                      if (outcome || is_claim_lost(outcome.error())) return;
                      self->log_.write(LogLevel::warning,
                                       {"a claim could not be given back; it ends with its lease: ",
                                        outcome.error().message});
                    }));
  } catch (...) {
    log_.caught("a claim could not be given back; it ends with its lease");
  }
}

Effects::Stage Effects::look() {
  while (stage_ == Stage::waiting) {
    std::optional<Result<Claim>> outcome;
    {
      const std::lock_guard lock(mutex_);
      outcome.swap(outcome_);
    }
    if (!outcome) break;
    if (operation_ == Operation::claim) {
      claim_came(*std::move(outcome));
    } else {
      complete_came(*outcome);
    }
  }
  return stage_;
}

void Effects::claim_came(Result<Claim> outcome) {
  if (!outcome) {
    log_.limited(LogLevel::error, "the ledger could not claim " + json::quote(key_) + ": " +
                                      outcome.error().message);
    fail(own_result_ ? not_kept(key_) : not_claimed(key_));
    return;
  }
  switch (outcome->state) {
    case Claim::State::running:
      stage_ = Stage::running;
      return;
    case Claim::State::done:
      own_result_.reset();
      result_ = std::move(outcome->result);
      stage_ = Stage::done;
      return;
    case Claim::State::claimed:
      break;
  }
  {
    const std::lock_guard lock(mutex_);
    forget(key_);
    next_.token = outcome->token;
    next_.lease = outcome->lease;
    next_.used = own_result_.has_value();
    held_.push_back(std::move(next_));
  }
  if (own_result_) {
    start(Operation::complete);  // whoever took it over has not done it: what was done here counts
  } else {
    stage_ = Stage::claimed;
  }
}

void Effects::complete_came(const Result<Claim>& outcome) {
  {
    const std::lock_guard lock(mutex_);
    forget(key_);
  }
  if (outcome) {
    stage_ = Stage::done;
    return;
  }
  if (is_claim_lost(outcome.error()) && ++tries_ <= most_tries) {
    return start(Operation::claim);  // somebody took it over, and has done it or is doing it
  }
  log_.limited(LogLevel::error, "the ledger could not keep that " + json::quote(key_) +
                                    " was done: " + outcome.error().message);
  fail(not_kept(key_));
}

Effects::Stage Effects::fail(Error error) {
  error_ = std::move(error);
  own_result_.reset();
  return stage_ = Stage::failed;
}

void Effects::await(rpc::PreparedPost post) {
  const std::lock_guard lock(mutex_);
  if (outcome_) {
    post();
  } else {
    post_ = std::move(post);
  }
}

void Effects::claim_again() {
  if (stage_ == Stage::running) start(Operation::claim);
}

void Effects::give_up() {
  if (stage_ == Stage::running) {
    fail(own_result_ ? not_kept(key_) : busy(key_));
    return;
  }
  if (stage_ != Stage::waiting) return;
  std::optional<rpc::PreparedPost> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (outcome_) return;  // just in time
    if (operation_ == Operation::claim) given_up_.emplace(number_, key_);
    ++number_;
    dropped.swap(post_);
    forget(key_);  // one whose result may not be kept: it ends with its lease
  }
  log_.limited(LogLevel::error, "the ledger did not answer in time about " + json::quote(key_) +
                                    " (ServerOptions::once_wait)");
  fail(own_result_ ? not_kept(key_) : not_claimed(key_));
}

std::string Effects::take_result(bool* own) {
  stage_ = Stage::none;
  if (own) *own = own_result_.has_value();
  std::string result = own_result_ ? *std::move(own_result_) : std::move(result_);
  own_result_.reset();
  return result;
}

Error Effects::take_error() {
  stage_ = Stage::none;
  return std::exchange(error_, std::nullopt).value_or(Error{});
}

// Leases.

bool Effects::begin_renewing() {
  const std::lock_guard lock(mutex_);
  const bool leased =
      std::ranges::any_of(held_, [](const Held& held) { return held.lease != Duration::max(); });
  return leased && !std::exchange(renewing_, true);
}

std::optional<Duration> Effects::renew_after() {
  const std::lock_guard lock(mutex_);
  Duration shortest = Duration::max();
  for (const Held& held : held_) shortest = std::min(shortest, held.lease);
  if (shortest == Duration::max() || abandoned_) {
    renewing_ = false;
    return std::nullopt;
  }
  return std::max(shortest / 3, shortest_renewal);
}

void Effects::renew() noexcept {
  try {
    std::vector<Held> held;
    {
      const std::lock_guard lock(mutex_);
      held = held_;
    }
    const std::shared_ptr<Ledger> ledger = ledger_.lock();
    for (const Held& one : held) {
      if (!ledger || one.lease == Duration::max()) continue;
      ledger->renew(chain_, one.key, one.token,
                    Done<void>([self = shared_from_this()](Result<void> outcome) {
                      if (outcome) return;
                      self->log_.write(LogLevel::warning,
                                       {"a claim could not be renewed: ", outcome.error().message});
                    }));
    }
  } catch (...) {
    log_.caught("claims could not be renewed");
  }
}

void Effects::release_unused() noexcept {
  for (;;) {
    Held unused;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(held_, false, &Held::used);
      if (found == held_.end()) return;
      unused = std::move(*found);
      held_.erase(found);
    }
    release(unused.key, unused.token);
  }
}

void Effects::abandon() noexcept {
  std::optional<rpc::PreparedPost> dropped;
  std::optional<Result<Claim>> unseen;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    dropped.swap(post_);
    unseen.swap(outcome_);
  }
  if (unseen && operation_ == Operation::claim && *unseen &&
      (*unseen)->state == Claim::State::claimed) {
    release(key_, (*unseen)->token);
  }
  release_unused();
}

Effects::Held* Effects::find(std::string_view key) noexcept {
  const auto found = std::ranges::find(held_, key, &Held::key);
  return found == held_.end() ? nullptr : &*found;
}

void Effects::forget(std::string_view key) noexcept {
  std::erase_if(held_, [&](const Held& held) { return held.key == key; });
}

}  // namespace godwit::inline v0::detail::server
