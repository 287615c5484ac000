#include "godwit/base/header_field.hpp"

#include <cstdint>
#include <cstring>

namespace godwit::inline v0::detail::base {

namespace {

constexpr std::uint64_t ones = 0x0101010101010101u;

std::uint64_t eight(const char* at) noexcept {
  std::uint64_t bytes;
  std::memcpy(&bytes, at, 8);
  return bytes;
}

/// Four to eight bytes, some of them twice.
std::uint64_t four_to_eight(const char* at, std::size_t size) noexcept {
  std::uint32_t first;
  std::uint32_t last;
  std::memcpy(&first, at, 4);
  std::memcpy(&last, at + size - 4, 4);
  return std::uint64_t{first} << 32 | last;
}

/// With small letters for the capital ones of ASCII.
std::uint64_t lower(std::uint64_t bytes) noexcept {
  const std::uint64_t low = bytes & 0x7f * ones;
  const std::uint64_t beyond_z = low + (0x7f - 'Z') * ones;
  const std::uint64_t from_a = low + (0x80 - 'A') * ones;
  const std::uint64_t capital = ~bytes & (from_a ^ beyond_z) & 0x80 * ones;
  return bytes | capital >> 2;
}

/// The two forms of a letter differ in one bit, so nearly all are decided by the first two looks.
bool same(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t differ = a ^ b;
  if (differ == 0) return true;
  return (differ & ~(0x20 * ones)) == 0 && lower(a) == lower(b);
}

}  // namespace

bool same_letters(const char* a, const char* b, std::size_t size) noexcept {
  if (size >= 8) {
    const std::size_t last = size - 8;
    for (std::size_t i = 0; i < last; i += 8) {
      if (!same(eight(a + i), eight(b + i))) return false;
    }
    return same(eight(a + last), eight(b + last));
  }
  if (size >= 4) return same(four_to_eight(a, size), four_to_eight(b, size));
  for (std::size_t i = 0; i < size; ++i) {
    if (!same(static_cast<unsigned char>(a[i]), static_cast<unsigned char>(b[i]))) return false;
  }
  return true;
}

}  // namespace godwit::inline v0::detail::base
