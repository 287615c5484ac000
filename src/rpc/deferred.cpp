#include "deferred.hpp"

#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::rpc::detail {

void Mailbox::post(Letter letter) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  letters_.push_back(std::move(letter));
  // One wake-up until the letters are taken. Under the lock, so that close() is final: the host's
  // callback is never called after it.
  if (!has_mail_.exchange(true, std::memory_order_acq_rel) && wake_) wake_();
}

std::vector<Letter> Mailbox::take() {
  std::lock_guard lock(mutex_);
  has_mail_.store(false, std::memory_order_release);
  return std::exchange(letters_, {});
}

void Mailbox::close() {
  std::vector<Letter> dropped;  // destroyed after the lock is released
  std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
  dropped.swap(letters_);
}

void DeferredCall::answer(std::string result) {
  if (answered_.exchange(true)) return;
  mailbox_->post({shared_from_this(), std::move(result), std::nullopt, nullptr, route_, false});
}

void DeferredCall::fail(Error error) {
  if (answered_.exchange(true)) return;
  mailbox_->post({shared_from_this(), {}, std::move(error), nullptr, route_, false});
}

void DeferredCall::threw(std::exception_ptr exception) noexcept {
  try {
    log.error(describe_throw("the handler of", method_, exception));
    fail(internal_error());
  } catch (...) {  // no memory even for that: the peer sees a timeout
  }
}

void DeferredCall::send(std::string message) {
  if (answered_.load()) return;
  mailbox_->post({shared_from_this(), std::move(message), std::nullopt, nullptr, route_, true});
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
