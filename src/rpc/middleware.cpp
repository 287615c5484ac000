#include "godwit/rpc/middleware.hpp"

#include "deferred.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::rpc {

detail::Layer::~Layer() = default;

void Outcome::set_result(std::string json) {
  replacement_ = std::move(json);
  result_ = replacement_;
  failed_ = false;
  changed_ = true;
}

void Outcome::set_error(Error error) {
  error_ = std::move(error);
  failed_ = true;
  changed_ = true;
}

Decision::Decision() noexcept = default;
Decision::Decision(std::shared_ptr<detail::DeferredCall> call,
                   std::unique_ptr<detail::Letter> letter) noexcept
    : call_(std::move(call)), letter_(std::move(letter)) {}
Decision::Decision(Decision&&) noexcept = default;
Decision& Decision::operator=(Decision&& other) noexcept {
  if (this != &other) {
    drop();
    call_ = std::move(other.call_);
    letter_ = std::move(other.letter_);
  }
  return *this;
}
Decision::~Decision() { drop(); }

void Decision::operator()(Verdict verdict) noexcept {
  const std::shared_ptr<detail::DeferredCall> call = std::exchange(call_, nullptr);
  std::unique_ptr<detail::Letter> letter = std::move(letter_);
  if (!call || !letter) return;
  letter->goes_on = verdict.goes_on();
  letter->text = std::move(verdict.result_);
  if (verdict.kind_ == Verdict::Kind::failed) letter->error.emplace(std::move(verdict.error_));
  call->post(std::move(letter));
}

std::stop_token Decision::cancelled() const {
  return call_ ? call_->cancelled() : std::stop_token();
}

void Decision::drop() noexcept {
  if (!call_) return;
  Error error{.code = code::internal_error, .message = {}};  // what is left without memory
  try {
    error = internal_error("the request was dropped undecided");
  } catch (...) {
  }
  (*this)(Verdict(std::move(error)));
}

}  // namespace godwit::inline v0::rpc
