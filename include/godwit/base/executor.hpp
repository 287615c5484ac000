// Executor: where blocking handlers run. The core owns no thread; the program passes one of these
// in.
#pragma once

#include <cstddef>
#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"

namespace godwit::inline v0 {

class GODWIT_API Executor {
 public:
  virtual ~Executor();
  /// Runs the work once, on some other thread, soon. Any thread may call it. Work that cannot be
  /// taken any more (the executor is shutting down) is destroyed unrun.
  virtual void execute(Function<void()> work) = 0;
};

/// A fixed set of threads fed from one queue. Destruction waits for the running work and drops the
/// rest.
class GODWIT_API ThreadPool final : public Executor {
 public:
  explicit ThreadPool(std::size_t threads = 4);
  ~ThreadPool() override;
  void execute(Function<void()> work) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
