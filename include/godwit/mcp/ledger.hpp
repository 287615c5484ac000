// Ledger: remembers which side effects were done, so that a request that is sent twice does them
// once. Context::once asks it. The default is MemoryLedger, which one process has for itself; an
// implementation on a shared store covers several processes.
//
// Whoever gets a claim owns the effect for a time, the lease, and may renew it. If the owner dies,
// the lease ends and somebody else gets the claim, with a higher token: what the first owner still
// writes under its old token is refused.
//
// Owner: the program and the servers that share it. Threads: any may call, several at once.
// Each operation has one outcome (Done), inside the call or later, on any thread; it may fail, and
// it may throw, which is the same. Views are good during the call only. Whoever is told an outcome
// may call the ledger again from there, so no lock is held while one is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/done.hpp"
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
  /// Of what was done.
  std::string result{};
  /// Of a claim: names it in the calls below. Each claim of the same effect has a higher one.
  std::uint64_t token = 0;
  /// Of a claim: how long it is good unless it is renewed. The default is for ever.
  Duration lease = Duration::max();

  bool operator==(const Claim&) const = default;
};

/// The claim is not held under this token any more: it was completed, released, or its lease ended
/// and somebody else has it.
GODWIT_API Error claim_lost();
GODWIT_API bool is_claim_lost(const Error& error) noexcept;

/// A side effect is named by the chain of requests it belongs to and a key inside that chain; the
/// same key in another chain is another effect.
class GODWIT_API Ledger {
 public:
  virtual ~Ledger();

  /// Of all who claim the same effect, one at a time gets `claimed`.
  virtual void claim(std::string_view chain, std::string_view key, Done<Claim> done) = 0;
  /// The effect is still being done: the lease begins anew.
  virtual void renew(std::string_view chain, std::string_view key, std::uint64_t token,
                     Done<void> done) = 0;
  /// The effect was done and gave this. It is kept when `done` says so, and nothing of it is told
  /// before. The error is claim_lost() if another token, or none, is the present one.
  virtual void complete(std::string_view chain, std::string_view key, std::uint64_t token,
                        std::string result, Done<void> done) = 0;
  /// The effect was not done, and the next claim may try again.
  virtual void release(std::string_view chain, std::string_view key, std::uint64_t token,
                       Done<void> done) = 0;
};

}  // namespace godwit::inline v0
