#include "godwit/base/executor.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace godwit::inline v0 {

Executor::~Executor() = default;

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Function<void()>> queue;
  bool stopping = false;
  std::vector<std::thread> threads;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stopping || !queue.empty(); });
      if (stopping) return;
      Function<void()> next = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      try {
        next();
      } catch (...) {  // work answers for its own errors; a thread of the pool must not die of them
      }
      next = nullptr;  // what the work captured is released before the next wait
      lock.lock();
    }
  }
};

ThreadPool::ThreadPool(std::size_t threads) : state_(std::make_unique<State>()) {
  for (std::size_t i = 0; i < (threads ? threads : 1); ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->work(); });
  }
}

ThreadPool::~ThreadPool() {
  std::deque<Function<void()>> dropped;
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    dropped.swap(state_->queue);
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void ThreadPool::execute(Function<void()> work) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
    state_->queue.push_back(std::move(work));
  }
  state_->wake.notify_one();
}

}  // namespace godwit::inline v0
