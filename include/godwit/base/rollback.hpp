// Rollback: undoes what a function has begun, unless the function comes to its end.
#pragma once

#include <utility>

namespace godwit::inline v0 {

/// Calls `undo`, which must not throw, when it goes out of scope without dismiss().
///
///     ++waiting;
///     Rollback undo([&] { --waiting; });
///     send();          // may throw
///     undo.dismiss();
template <class Undo>
class [[nodiscard]] Rollback {
 public:
  explicit Rollback(Undo undo) noexcept : undo_(std::move(undo)) {}
  ~Rollback() {
    if (armed_) undo_();
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;

  void dismiss() noexcept { armed_ = false; }

 private:
  Undo undo_;
  bool armed_ = true;
};

}  // namespace godwit::inline v0
