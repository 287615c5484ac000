// Ledger: remembers which side effects were done, so that a request that is sent twice does them
// once. Context::once asks it. The default is MemoryLedger, which one process has for itself; an
// implementation on a shared store covers several processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// What a Ledger says to somebody who wants to do a side effect.
struct Claim {
  enum class State : std::uint8_t {
    /// Do it, then call complete(), or release() if it failed.
    claimed,
    /// Do not do it: somebody else is doing it now. Try again later.
    running,
    /// It was done; `result` is what it gave.
    done,
  };

  State state = State::claimed;
  std::string result{};

  bool operator==(const Claim&) const = default;
};

/// A side effect is named by the chain of requests it belongs to and a key inside that chain; the
/// same key in another chain is another effect. Any thread may call any of these.
class GODWIT_API Ledger {
 public:
  virtual ~Ledger();

  /// Of all who claim the same effect, one at a time gets `claimed`.
  virtual Claim claim(std::string_view chain, std::string_view key) = 0;
  /// The claimed effect was done and gave this. Does nothing if it is not running.
  virtual void complete(std::string_view chain, std::string_view key, std::string result) = 0;
  /// The claimed effect failed, and the next claim may try again. Does nothing if it is not
  /// running.
  virtual void release(std::string_view chain, std::string_view key) = 0;
};

}  // namespace godwit::inline v0
