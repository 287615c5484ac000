#include "godwit/base/header_field.hpp"

namespace godwit::inline v0 {

bool same_header_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char* x = a.data();
  const char* y = b.data();
  for (const char* const end = x + a.size(); x != end; ++x, ++y) {
    if (*x != *y && lower(*x) != lower(*y)) return false;
  }
  return true;
}

}  // namespace godwit::inline v0
