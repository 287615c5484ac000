// Loop: the event loop that timers, streams, processes and sockets run on.
//
// Owner: the program. A Loop outlives everything made on it, and its own callbacks: destroying it
// inside one ends the program with a message.
// Threads: one thread at a time drives it (run, run_for, poll); only post() and stop() may be
// called from any thread. Callbacks run on the driving thread.
//
// Exceptions of callbacks, posted work among them, leave run() or poll(); calling it again goes on
// with the next callback, and run(log) does so by itself. What godwit itself runs on a loop lets
// none out: the end of memory ends the request or the connection that met it, with a line in the
// log.
//
// In a program with its own event loop: watch fd() for reading and call poll() when it is readable.
#pragma once

#include <cstddef>
#include <memory>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/log.hpp"

namespace godwit::inline v0 {

class Loop;
namespace detail::io {
struct LoopCore;
LoopCore& core(Loop& loop) noexcept;
}  // namespace detail::io

class GODWIT_API Loop {
 public:
  class Work;

  /// Throws std::system_error where the system gives no descriptors for it.
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs callbacks until stop(), or until nothing is left that could ever cause one: no timer, no
  /// stream being read or waiting to write, no process, no listener, no posted work, no Work guard.
  /// Gives the number of callbacks run.
  std::size_t run();
  /// The same for programs that go on: what a callback throws is written to the log, and the loop
  /// runs on with the next one.
  void run(const Log& log) noexcept;
  /// The same for at most this long.
  std::size_t run_for(Duration duration);
  /// Runs what is ready and never waits.
  std::size_t poll();

  /// Makes the run() in progress return after its current callback, or the next one at once. Any
  /// thread.
  void stop() noexcept;

  /// Runs `work` on the driving thread, later, in the order posted; never inside this call. Any
  /// thread.
  void post(Function<void()> work);

  /// A descriptor for a foreign loop: readable when poll() has something to do. It belongs to the
  /// Loop; watch it level-triggered, never read it. Asked for once before others post to the Loop.
  int fd();

  /// Whether the caller is being run by this Loop.
  bool on_loop_thread() const noexcept;

 private:
  friend detail::io::LoopCore& detail::io::core(Loop& loop) noexcept;
  std::unique_ptr<detail::io::LoopCore> core_;
};

/// Keeps run() waiting although nothing else does. Any thread; the Loop must outlive it.
class GODWIT_API Loop::Work {
 public:
  explicit Work(Loop& loop);
  ~Work();
  Work(Work&& other) noexcept;
  Work& operator=(Work&& other) noexcept;

 private:
  detail::io::LoopCore* core_ = nullptr;
};

}  // namespace godwit::inline v0
