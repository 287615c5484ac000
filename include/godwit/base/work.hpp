// How much work the library did, for tests and fuzzers that show that cost grows no faster than
// the input. Counted only where the whole build is made with the CMake option GODWIT_COUNT_WORK,
// which every user of that build inherits; elsewhere this is empty and costs nothing.
#pragma once

#include <cstdint>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::detail::base {

#if defined(GODWIT_COUNT_WORK)
inline constexpr bool counts_work = true;
/// Adds to the work of this thread: about one step per byte, member or item that is looked at.
GODWIT_API void count_work(std::uint64_t steps) noexcept;
/// The work of this thread so far. Take it before and after, and subtract.
GODWIT_API std::uint64_t work_done() noexcept;
/// While a text is parsed.
class GODWIT_API Parsing {
 public:
  Parsing() noexcept;
  ~Parsing();
  Parsing(const Parsing&) = delete;
  Parsing& operator=(const Parsing&) = delete;
};
/// Texts that this thread has parsed so far, and whether it is just parsing one.
GODWIT_API std::uint64_t parses_done() noexcept;
GODWIT_API bool is_parsing() noexcept;
#else
inline constexpr bool counts_work = false;
inline void count_work(std::uint64_t) noexcept {}
inline std::uint64_t work_done() noexcept { return 0; }
class [[maybe_unused]] Parsing {};
inline std::uint64_t parses_done() noexcept { return 0; }
inline bool is_parsing() noexcept { return false; }
#endif

}  // namespace godwit::inline v0::detail::base
