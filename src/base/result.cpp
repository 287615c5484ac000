#include "godwit/base/result.hpp"

#include <cstdio>
#include <cstdlib>

#include "godwit/base/misuse.hpp"

namespace godwit::inline v0::detail::base {

void result_misuse(const Error* error) noexcept {
  if (!error) misuse("error() was asked of a Result that holds a value");
  std::fprintf(stderr, "godwit: a failed Result was read: %s\n", error->message.c_str());
  std::abort();
}

}  // namespace godwit::inline v0::detail::base
