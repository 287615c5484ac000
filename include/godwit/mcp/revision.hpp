// The revisions of the protocol that this library speaks.
#pragma once

#include <span>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// Newest first.
GODWIT_API std::span<const std::string_view> revisions() noexcept;

}  // namespace godwit::inline v0
