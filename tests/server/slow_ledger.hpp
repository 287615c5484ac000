// A Ledger for tests: it does nothing until the test says so, and fails where the test wants it to.
// What it remembers is in a MemoryLedger.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/mcp/memory_ledger.hpp"

namespace godwit::test {

class SlowLedger final : public Ledger {
 public:
  explicit SlowLedger(MemoryLedgerOptions options = {}, const Clock* clock = nullptr)
      : memory(options, clock) {}

  void claim(std::string_view chain, std::string_view key, Done<Claim> done) override {
    begin("claim", key);
    add("claim", [this, chain = std::string(chain), key = std::string(key),
                  done = std::move(done)](const Error* error) mutable {
      if (error) return done(*error);
      memory.claim(chain, key, std::move(done));
    });
  }
  void renew(std::string_view chain, std::string_view key, std::uint64_t token,
             Done<void> done) override {
    begin("renew", key);
    add("renew", [this, chain = std::string(chain), key = std::string(key), token,
                  done = std::move(done)](const Error* error) mutable {
      if (error) return done(*error);
      memory.renew(chain, key, token, std::move(done));
    });
  }
  void complete(std::string_view chain, std::string_view key, std::uint64_t token,
                std::string result, Done<void> done) override {
    begin("complete", key);
    add("complete",
        [this, chain = std::string(chain), key = std::string(key), token,
         result = std::move(result), done = std::move(done)](const Error* error) mutable {
          if (error) return done(*error);
          memory.complete(chain, key, token, std::move(result), std::move(done));
        });
  }
  void release(std::string_view chain, std::string_view key, std::uint64_t token,
               Done<void> done) override {
    begin("release", key);
    add("release", [this, chain = std::string(chain), key = std::string(key), token,
                    done = std::move(done)](const Error* error) mutable {
      if (error) return done(*error);
      memory.release(chain, key, token, std::move(done));
    });
  }

  /// Ends the operation that waits longest, with this error or as it should. False if none waits.
  bool step(const Error* error = nullptr) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) return false;
    auto [name, operation] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    operation(error);
    return true;
  }
  /// Forgets it: nobody is told, but for what Done does by itself.
  bool drop() {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) return false;
    auto dropped = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    return true;
  }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  /// "claim a", "complete a", …, in the order they came.
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::size_t count(std::string_view call) const {
    std::size_t found = 0;
    for (const std::string& one : calls()) found += one == call ? 1u : 0u;
    return found;
  }

  /// Operations of these names do not wait.
  std::vector<std::string> quick;
  /// Operations of this name fail, throw, or are dropped, inside the call.
  std::string failing, throwing, dropping;
  /// Called with each operation, inside the call.
  std::function<void(std::string_view name)> on_call;

  MemoryLedger memory;

 private:
  using Operation = Function<void(const Error*)>;

  void begin(std::string name, std::string_view key) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(name + " " + std::string(key));
    }
    if (const auto call = on_call) call(name);
    if (throwing == name) throw std::runtime_error("the store threw a secret");
  }
  void add(std::string name, Operation operation) {
    const Error broken = error("the store is down: secret");
    if (failing == name) return operation(&broken);
    if (dropping == name) return;
    for (const std::string& one : quick) {
      if (one == name) return operation(nullptr);
    }
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(std::move(name), std::move(operation));
  }

  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, Operation>> waiting_;
  std::vector<std::string> calls_;
};

}  // namespace godwit::test
