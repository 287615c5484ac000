#include "godwit/http/admission.hpp"

#include <mutex>
#include <utility>

namespace godwit::inline v0::http {

namespace detail {

/// Shared by who decides and who asked.
struct LateState {
  std::mutex mutex;
  Outcome outcome;
  Fields refusal_fields;
  Function<void()> wake;
  bool decided = false;
  bool abandoned = false;  // nobody wants to know any more
};

}  // namespace detail

namespace {

/// The fields are added to those of a refusal.
void add_to(Outcome& outcome, const Fields& fields) noexcept {
  if (outcome.kind != Outcome::Kind::refused) return;
  try {
    for (const auto& [name, value] : fields) outcome.refusal.fields.add(name, value);
  } catch (...) {  // no memory: the refusal without them
  }
}

Outcome refused(Response answer) noexcept {
  return {.kind = Outcome::Kind::refused, .admitted = {}, .refusal = std::move(answer)};
}

Outcome admitted(Admitted who) noexcept {
  return {.kind = Outcome::Kind::admitted, .admitted = std::move(who), .refusal = {}};
}

}  // namespace

// Later.

LateDecision::LateDecision(std::shared_ptr<detail::LateState> state) noexcept
    : state_(std::move(state)) {}
LateDecision::LateDecision(LateDecision&&) noexcept = default;

LateDecision& LateDecision::operator=(LateDecision&& other) noexcept {
  if (this == &other) return *this;
  const LateDecision old(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

LateDecision::~LateDecision() { refuse({.status = 500, .fields = {}, .body = {}}); }

void LateDecision::admit(Admitted who) noexcept { decide(admitted(std::move(who))); }
void LateDecision::refuse(Response answer) noexcept { decide(refused(std::move(answer))); }

void LateDecision::decide(Outcome outcome) noexcept {
  const auto state = std::exchange(state_, nullptr);
  if (!state) return;
  const std::lock_guard lock(state->mutex);
  state->decided = true;
  if (state->abandoned) return;
  add_to(outcome, state->refusal_fields);
  state->outcome = std::move(outcome);
  // Inside the lock, so that whoever asked cannot go away meanwhile.
  if (state->wake) std::exchange(state->wake, nullptr)();
}

PendingDecision::PendingDecision() noexcept = default;
PendingDecision::PendingDecision(std::shared_ptr<detail::LateState> state) noexcept
    : state_(std::move(state)) {}
PendingDecision::PendingDecision(PendingDecision&&) noexcept = default;

PendingDecision& PendingDecision::operator=(PendingDecision&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  state_ = std::move(other.state_);
  return *this;
}

PendingDecision::~PendingDecision() { abandon(); }

void PendingDecision::abandon() noexcept {
  const auto state = std::exchange(state_, nullptr);
  if (!state) return;
  const std::lock_guard lock(state->mutex);
  state->abandoned = true;
  state->wake = nullptr;
}

bool PendingDecision::wait(Function<void()> wake) {
  const std::lock_guard lock(state_->mutex);
  if (state_->decided) return false;
  state_->wake = std::move(wake);
  return true;
}

Outcome PendingDecision::take() noexcept {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->outcome, {});
}

// At once.

Decision::Decision() = default;
Decision::~Decision() = default;

void Decision::admit(Admitted who) noexcept {
  if (outcome_.kind != Outcome::Kind::undecided || late_) return;
  outcome_.kind = Outcome::Kind::admitted;
  outcome_.admitted = std::move(who);
}

void Decision::refuse(Response answer) noexcept {
  if (outcome_.kind != Outcome::Kind::undecided || late_) return;
  outcome_ = refused(std::move(answer));
  add_to(outcome_, refusal_fields_);
}

void Decision::pass() noexcept {
  if (outcome_.kind == Outcome::Kind::undecided && !late_) outcome_.kind = Outcome::Kind::passed;
}

LateDecision Decision::later() {
  // A second one, or one after a decision, has nothing to decide.
  if (late_ || outcome_.kind != Outcome::Kind::undecided) return LateDecision(nullptr);
  late_ = std::make_shared<detail::LateState>();
  late_->refusal_fields = std::move(refusal_fields_);
  return LateDecision(late_);
}

PendingDecision Decision::pending() noexcept { return PendingDecision(std::move(late_)); }

Admission::~Admission() = default;

}  // namespace godwit::inline v0::http
