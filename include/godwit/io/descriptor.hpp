// Descriptor: owns one file descriptor and closes it. A plain value; any thread.
#pragma once

#include <utility>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

class GODWIT_API Descriptor {
 public:
  Descriptor() noexcept = default;
  /// Takes ownership; -1 is none.
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives the descriptor away.
  int release() noexcept { return std::exchange(fd_, -1); }
  /// Closes it now.
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace godwit::inline v0
