// The metaschemas of the supported drafts, so that schemas may refer to them without any document
// being fetched or registered.
#pragma once

#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json::detail {

/// JSON text of the metaschema of this absolute URI (without fragment); empty if it is none.
std::string_view metaschema_text(std::string_view uri) noexcept;

}  // namespace godwit::inline v0::json::detail
