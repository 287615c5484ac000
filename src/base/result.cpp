#include "godwit/base/result.hpp"

#include <cstdio>
#include <cstdlib>

namespace godwit::inline v0::detail::base {

void result_misuse(const Error* error) noexcept {
  if (error) {
    std::fprintf(stderr, "godwit: a failed Result was read: %s\n", error->message.c_str());
  } else {
    std::fputs("godwit: error() was asked of a Result that holds a value\n", stderr);
  }
  std::abort();
}

}  // namespace godwit::inline v0::detail::base
