// base64, from_base64: bytes as text (RFC 4648 4, with padding).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

GODWIT_API std::string base64(std::string_view bytes);
/// The bytes; nothing if the text is not base64 in its one strict form.
GODWIT_API std::optional<std::string> from_base64(std::string_view text);

}  // namespace godwit::inline v0
