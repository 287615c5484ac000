// Export macro, and the ABI namespace: every name of godwit lives in the inline namespace v0, so
// that two incompatible releases can share a process. Files spell it out (`namespace godwit::inline
// v0::json {`): without it g++ would extend the inline namespace and clang would open another one.
#pragma once

#if defined(GODWIT_SHARED) && (defined(__GNUC__) || defined(__clang__))
#define GODWIT_API __attribute__((visibility("default")))
#else
#define GODWIT_API
#endif
