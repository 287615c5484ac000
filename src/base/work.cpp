#include "godwit/base/work.hpp"

namespace godwit::inline v0::detail::base {

#if defined(GODWIT_COUNT_WORK)
namespace {
thread_local std::uint64_t steps_of_this_thread = 0;
thread_local std::uint64_t parses_of_this_thread = 0;
thread_local bool this_thread_parses = false;
}  // namespace

void count_work(std::uint64_t steps) noexcept { steps_of_this_thread += steps; }

std::uint64_t work_done() noexcept { return steps_of_this_thread; }

Parsing::Parsing() noexcept {
  ++parses_of_this_thread;
  this_thread_parses = true;
}
Parsing::~Parsing() { this_thread_parses = false; }

bool is_parsing() noexcept { return this_thread_parses; }
std::uint64_t parses_done() noexcept { return parses_of_this_thread; }
#endif

}  // namespace godwit::inline v0::detail::base
