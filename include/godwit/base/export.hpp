// Export macro and the ABI namespace. Every name of godwit lives in the inline namespace v0, so that
// two incompatible releases can share a process. Declaring the module namespaces here once lets all
// other files simply write `namespace godwit::json {`.
#pragma once

#if defined(GODWIT_SHARED) && (defined(__GNUC__) || defined(__clang__))
#define GODWIT_API __attribute__((visibility("default")))
#else
#define GODWIT_API
#endif

namespace godwit {
inline namespace v0 {
namespace json {}
namespace rpc {}
}  // namespace v0
}  // namespace godwit
