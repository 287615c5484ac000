// MemoryLedger: a Ledger in the memory of this process, bounded. Any thread; one mutex. Every
// outcome comes inside the call.
//
// What is lost, and when: an effect that was done is forgotten when its time is over, and earlier
// when a bound is hit, those done longest ago first. If the same request comes once more after
// that, the effect is done once more. With the end of the process everything is forgotten. A
// running effect is never forgotten, however long it takes: where running ones fill a bound, new
// claims are answered `running` until one of them ends. One whose lease ended goes to the next who
// claims it, or is forgotten where there is no room.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/mcp/ledger.hpp"

namespace godwit::inline v0 {

struct MemoryLedgerOptions {
  /// Effects remembered at once: over a hundred per second for the whole time to live.
  std::size_t entries = 100'000;
  /// Memory for names and results, about: what a server can spare for answers it may never need.
  std::size_t bytes = 64u << 20;
  /// How long an effect that was done is remembered: longer than a client goes on sending again.
  Duration time_to_live = std::chrono::minutes(15);
  /// How long a claim is good without being renewed. For ever, because those who claim here end
  /// with the process, and the ledger with them.
  Duration lease = Duration::max();
};

class GODWIT_API MemoryLedger final : public Ledger {
 public:
  /// The clock must outlive the ledger; without one it is the steady clock of the system.
  explicit MemoryLedger(MemoryLedgerOptions options = {}, const Clock* clock = nullptr);
  ~MemoryLedger() override;
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void claim(std::string_view chain, std::string_view key, Done<Claim> done) override;
  void renew(std::string_view chain, std::string_view key, std::uint64_t token,
             Done<void> done) override;
  /// A result that does not fit into the memory beside what is running is not kept: the effect is
  /// forgotten at once.
  void complete(std::string_view chain, std::string_view key, std::uint64_t token,
                std::string result, Done<void> done) override;
  void release(std::string_view chain, std::string_view key, std::uint64_t token,
               Done<void> done) override;

  /// Effects remembered now, running ones too. Those whose time is over go with the next claim.
  std::size_t size() const;
  /// Memory as the bound counts it.
  std::size_t bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
