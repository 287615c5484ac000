// Effects: what Context::once does for one request: the claims that it holds, and the one operation
// of the ledger that it waits for.
//
// Owner: the Asks of the request; a ledger that has not answered yet holds it, too. Threads: that
// of the handler while it runs, the peer's between two runs. What the ledger says comes on any
// thread, and claims are renewed on the peer's at any time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/log.hpp"
#include "godwit/mcp/ledger.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::detail::server {

/// Shared because the ledger has it until it has answered, on whatever thread that is.
class Effects final : public std::enable_shared_from_this<Effects> {
 public:
  /// How far the effect is that was begun or completed last.
  enum class Stage : std::uint8_t {
    none,
    waiting,  // for the ledger
    running,  // somebody else is doing it
    claimed,  // it is to be done
    done,     // take_result() has what it gave
    failed,   // take_error() says why
  };

  Effects(const std::shared_ptr<Ledger>& ledger, std::string chain, Log log)
      : ledger_(ledger), chain_(std::move(chain)), log_(std::move(log)) {}

  // For a run of the handler.

  /// Wants to do it. A claim that an earlier run has waited for is used.
  Stage begin(std::string_view key);
  /// It was done.
  Stage complete(std::string_view key, std::string result);
  /// It failed. The next one who wants to may try, unless this run waits for something else, after
  /// which it comes back for the claim.
  void drop(std::string_view key) noexcept;

  // For those who wait.

  bool is_waiting() const noexcept { return stage_ == Stage::waiting || stage_ == Stage::running; }
  const std::string& key() const noexcept { return key_; }
  /// How far it is now.
  Stage look();
  /// Posts this when the ledger has answered; at once if it has.
  void await(rpc::PreparedPost post);
  /// Asks the ledger again whether somebody else is still doing it.
  void claim_again();
  /// Waits no longer: the stage is `failed`.
  void give_up();
  /// What it gave. True in `own` if it was done here.
  std::string take_result(bool* own = nullptr);
  Error take_error();

  // Leases.

  /// True if there are claims to renew, and the caller is to see to it from now on.
  bool begin_renewing();
  /// Time until renew() is to be called; nothing if there are no claims to renew any more.
  std::optional<Duration> renew_after();
  void renew() noexcept;

  /// Gives back claims that nothing was done with.
  void release_unused() noexcept;
  /// Nobody waits any more, and nothing more is begun. A claim that comes now is given back.
  void abandon() noexcept;

 private:
  enum class Operation : std::uint8_t { claim, complete };
  struct Held {
    std::string key;
    std::uint64_t token = 0;
    Duration lease{};
    bool used = false;  // its effect was begun
  };

  void start(Operation operation);
  void tell(std::uint64_t number, Result<Claim> outcome) noexcept;
  void claim_came(Result<Claim> outcome);
  void complete_came(const Result<Claim>& outcome);
  Stage fail(Error error);
  Held* find(std::string_view key) noexcept;
  void forget(std::string_view key) noexcept;
  void release(std::string_view key, std::uint64_t token) noexcept;

  const std::weak_ptr<Ledger> ledger_;  // which holds this while an operation is under way
  const std::string chain_;
  const Log log_;

  Stage stage_ = Stage::none;
  Operation operation_{};
  std::optional<std::string> own_result_;  // of what was done here
  std::string result_;
  std::optional<Error> error_;
  unsigned tries_ = 0;

  std::mutex mutex_;  // for what follows
  std::string key_;   // written by the run or its waiter only, which need no lock to read it
  std::uint64_t number_ = 0;  // of the operation
  std::optional<Result<Claim>> outcome_;
  std::optional<rpc::PreparedPost> post_;
  std::vector<Held> held_;
  Held next_;                                      // of the claim that is waited for
  std::map<std::uint64_t, std::string> given_up_;  // keys of claims that nobody waits for
  bool renewing_ = false;
  bool abandoned_ = false;
};

/// Owns the effects of one request: with it, they are abandoned.
class OwnEffects {
 public:
  OwnEffects() = default;
  ~OwnEffects() {
    if (effects_) effects_->abandon();
  }
  OwnEffects(OwnEffects&&) noexcept = default;
  OwnEffects& operator=(OwnEffects&& other) noexcept {
    effects_.swap(other.effects_);
    return *this;
  }
  void set(std::shared_ptr<Effects> effects) noexcept { effects_ = std::move(effects); }
  const std::shared_ptr<Effects>& get() const noexcept { return effects_; }
  explicit operator bool() const noexcept { return effects_ != nullptr; }
  Effects* operator->() const noexcept { return effects_.get(); }
  Effects& operator*() const noexcept { return *effects_; }

 private:
  std::shared_ptr<Effects> effects_;
};

}  // namespace godwit::inline v0::detail::server
