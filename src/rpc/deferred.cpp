#include "deferred.hpp"

#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::rpc::detail {

void Letters::push(std::unique_ptr<Letter> letter) noexcept {
  Letter* const last = letter.get();
  bytes_ += last->text.size();
  (last_ ? last_->next : first_) = std::move(letter);
  last_ = last;
}

std::unique_ptr<Letter> Letters::pop() noexcept {
  std::unique_ptr<Letter> letter = std::move(first_);
  if (!letter) return letter;
  first_ = std::move(letter->next);
  if (!first_) last_ = nullptr;
  bytes_ -= letter->text.size();
  return letter;
}

void Letters::append(Letters& others) noexcept {
  if (others.empty()) return;
  (last_ ? last_->next : first_) = std::move(others.first_);
  last_ = std::exchange(others.last_, nullptr);
  bytes_ += std::exchange(others.bytes_, 0);
}

void Letters::clear() noexcept {
  while (pop()) {
  }
}

void Mailbox::post(std::unique_ptr<Letter> letter) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  letters_.push(std::move(letter));
  wake_up();
}

void Mailbox::wait_for_room() noexcept {
  std::unique_lock lock(mutex_);
  if (taker_ == std::this_thread::get_id()) return;
  const auto has_room = [&] { return closed_ || stalled_ || letters_.bytes() <= most_; };
  if (!room_.wait_for(lock, longest_wait_, has_room)) stalled_ = true;
}

/// One wake-up until the letters are taken. Under the lock, so that close() is final: the host's
/// callback is never called after it.
void Mailbox::wake_up() noexcept {
  has_mail_.store(true, std::memory_order_release);
  if (woken_ || !wake_) return;
  try {
    wake_();
    woken_ = true;
  } catch (...) {  // the next letter tries again
  }
}

Letters Mailbox::take() noexcept {
  const std::lock_guard lock(mutex_);
  has_mail_.store(false, std::memory_order_release);
  woken_ = false;
  stalled_ = false;
  taker_ = std::this_thread::get_id();
  if (letters_.bytes() > most_) room_.notify_all();
  return std::move(letters_);
}

void Mailbox::put_back(Letters& letters) noexcept {
  if (letters.empty()) return;
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  letters.append(letters_);
  letters_.swap(letters);
  wake_up();
}

void Mailbox::close() noexcept {
  Letters dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  dropped.swap(letters_);
  room_.notify_all();
}

bool Mailbox::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void DeferredCall::give(std::string result, bool asks) {
  if (answered_.exchange(true)) return;
  answer_->asks = asks;
  answer_->request = shared_from_this();
  answer_->text = std::move(result);
  answer_->route = route_;
  mailbox_->post(std::move(answer_));
}

void DeferredCall::fail(Error error) {
  if (answered_.exchange(true)) return;
  answer_->request = shared_from_this();
  answer_->error = std::move(error);
  answer_->route = route_;
  mailbox_->post(std::move(answer_));
}

void DeferredCall::post(std::unique_ptr<Letter> letter) noexcept {
  letter->request = shared_from_this();
  letter->route = route_;
  mailbox_->post(std::move(letter));
}

void DeferredCall::threw(std::exception_ptr exception) noexcept {
  Error error{.code = code::internal_error, .message = {}};  // what is left without memory
  try {
    log.limited(LogLevel::error, describe_throw("the handler of", method_, exception));
    error = internal_error();
  } catch (...) {
  }
  fail(std::move(error));
}

void DeferredCall::send(std::string message) {
  if (answered_.load()) return;
  auto letter = std::make_unique<Letter>();
  letter->request = shared_from_this();
  letter->text = std::move(message);
  letter->route = route_;
  letter->on_the_way = true;
  mailbox_->post(std::move(letter));
  if (std::this_thread::get_id() != home_) mailbox_->wait_for_room();
}

std::string describe_throw(std::string_view what, std::string_view name,
                           const std::exception_ptr& exception) {
  std::string line(what);
  line.append(" ").append(json::quote(name.substr(0, 200))).append(" threw: ");
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    line.append(e.what());
  } catch (...) {
    line.append("something that is not a std::exception");
  }
  return line;
}

}  // namespace godwit::inline v0::rpc::detail
