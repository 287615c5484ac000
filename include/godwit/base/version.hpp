// The version of the headers (macros) and of the library that is linked (function).
#pragma once

#include <string_view>

#include "godwit/base/export.hpp"

#define GODWIT_VERSION_MAJOR 0
#define GODWIT_VERSION_MINOR 1
#define GODWIT_VERSION_PATCH 0

namespace godwit::inline v0 {

/// "MAJOR.MINOR.PATCH" of the library in use; differs from the macros when a shared library was
/// swapped.
GODWIT_API std::string_view version() noexcept;

}  // namespace godwit::inline v0
