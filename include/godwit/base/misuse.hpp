// misuse: ends the program where it broke a contract that nothing can mend, with a sentence that
// says what to do instead.
#pragma once

#include "godwit/base/export.hpp"

namespace godwit::inline v0::detail::base {

/// Writes "godwit: …" to stderr and aborts.
[[noreturn]] GODWIT_API void misuse(const char* what) noexcept;

}  // namespace godwit::inline v0::detail::base
