#include "godwit/base/work.hpp"

namespace godwit::inline v0::detail::base {

#if defined(GODWIT_COUNT_WORK)
namespace {
thread_local std::uint64_t steps_of_this_thread = 0;
}

void count_work(std::uint64_t steps) noexcept { steps_of_this_thread += steps; }

std::uint64_t work_done() noexcept { return steps_of_this_thread; }
#endif

}  // namespace godwit::inline v0::detail::base
