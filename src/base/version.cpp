#include "godwit/base/version.hpp"

#define GODWIT_TEXT(x) #x
#define GODWIT_DOTTED(a, b, c) GODWIT_TEXT(a) "." GODWIT_TEXT(b) "." GODWIT_TEXT(c)

namespace godwit::inline v0 {

std::string_view version() noexcept {
  return GODWIT_DOTTED(GODWIT_VERSION_MAJOR, GODWIT_VERSION_MINOR, GODWIT_VERSION_PATCH);
}

}  // namespace godwit::inline v0
