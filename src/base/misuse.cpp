#include "godwit/base/misuse.hpp"

#include <cstdio>
#include <cstdlib>

namespace godwit::inline v0::detail::base {

void misuse(const char* what) noexcept {
  std::fprintf(stderr, "godwit: %s\n", what);
  std::abort();
}

}  // namespace godwit::inline v0::detail::base
