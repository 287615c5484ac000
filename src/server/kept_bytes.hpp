// KeptBytes: what a session keeps of its client's words between messages, counted against a bound
// of its own and one of all sessions of the server together.
//
// Threads: the session's; only the sum over all sessions is touched by several.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/base/error.hpp"
#include "godwit/server/context.hpp"

namespace godwit::inline v0::detail::server {

/// What things cost on the heap: their text and what holds it.
std::size_t kept_size(std::string_view text) noexcept;
std::size_t kept_size(const Caller& caller) noexcept;

/// Why a text of the client is refused for its length; nothing if it is not. `where` is its place
/// in the params.
std::optional<Error> too_long(std::string_view where, std::string_view text, std::size_t most);

class KeptBytes {
 public:
  KeptBytes(std::atomic<std::size_t>& all, std::size_t most, std::size_t most_of_all) noexcept
      : all_(all), most_(most), most_of_all_(most_of_all) {}
  ~KeptBytes() { remove(here_); }
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

  /// Counts bytes that are about to be kept. An error, and nothing is counted, if they are too
  /// many.
  std::optional<Error> add(std::size_t bytes);
  void remove(std::size_t bytes) noexcept;
  /// Of this session.
  std::size_t here() const noexcept { return here_; }

 private:
  std::atomic<std::size_t>& all_;
  const std::size_t most_;
  const std::size_t most_of_all_;
  std::size_t here_ = 0;
};

/// Bytes that count as long as this lives.
class KeptClaim {
 public:
  KeptClaim() = default;
  /// They have been added.
  KeptClaim(KeptBytes& kept, std::size_t bytes) noexcept : kept_(&kept), bytes_(bytes) {}
  ~KeptClaim() {
    if (kept_) kept_->remove(bytes_);
  }
  KeptClaim(KeptClaim&& other) noexcept
      : kept_(std::exchange(other.kept_, nullptr)), bytes_(other.bytes_) {}
  KeptClaim& operator=(KeptClaim&& other) noexcept {
    std::swap(kept_, other.kept_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  /// They count until they are removed otherwise.
  void keep() noexcept { kept_ = nullptr; }

 private:
  KeptBytes* kept_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::inline v0::detail::server
