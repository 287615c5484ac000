#include "godwit/base/random.hpp"

#include <random>

namespace godwit::inline v0 {

std::uint32_t random_bits() {
  // Making one asks the processor what it can do, which a virtual machine answers by a detour of
  // some 20 microseconds: once a thread, and not for every id.
  static thread_local std::random_device device;
  return device();
}

std::string random_hex(std::size_t bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i, bits >>= 8) {
    if (i % 4 == 0) bits = random_bits();
    text.push_back(digits[bits >> 4 & 15u]);
    text.push_back(digits[bits & 15u]);
  }
  return text;
}

}  // namespace godwit::inline v0
