// What stands behind a Loop. Private to src/io and to modules that put Asio objects on a Loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "godwit/io/descriptor.hpp"
#include "godwit/io/loop.hpp"

namespace godwit::inline v0::detail::io {

/// The concrete executor everywhere: any_io_executor costs a virtual call and sometimes memory.
using LoopExecutor = boost::asio::io_context::executor_type;

struct LoopCore {
  // Posting is safe from any thread; operations on descriptors are not locked, since one thread at
  // a time drives the loop.
  boost::asio::io_context context{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  std::atomic<bool> stop{false};

  // Only for foreign loops: `outer` watches Asio's epoll descriptor and `wake`.
  Descriptor outer;
  Descriptor wake;
  std::atomic<bool> foreign{false};

  /// What its owner has let go of while bytes that it took were still to be written. Declared after
  /// the context, so that it is gone before it.
  std::vector<std::shared_ptr<void>> lingering;

  /// May destroy it.
  void forget(const void* what) noexcept {
    const auto at = std::find_if(lingering.begin(), lingering.end(),
                                 [what](const auto& one) { return one.get() == what; });
    if (at == lingering.end()) return;
    std::swap(*at, lingering.back());
    const std::shared_ptr<void> last = std::move(lingering.back());
    lingering.pop_back();
  }

  /// Asio queues completions that need no waiting without making its epoll descriptor readable.
  /// Whatever starts an operation outside of a callback calls this, so that a foreign loop looks.
  void touch() noexcept {
    if (foreign.load(std::memory_order_acquire) && !context.get_executor().running_in_this_thread())
      signal();
  }
  void signal() noexcept;
  void quiet() noexcept;
  bool begin() noexcept;
};

}  // namespace godwit::inline v0::detail::io
