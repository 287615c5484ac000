// random_id: 128 bits from the system as 32 hexadecimal digits.
#pragma once

#include <random>
#include <string>

namespace godwit::inline v0::detail::web {

/// Not to be guessed: std::random_device reads the system's generator, not one that is seeded here.
inline std::string random_id() {
  static constexpr char digits[] = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id.push_back(digits[bits & 15u]);
  }
  return id;
}

}  // namespace godwit::inline v0::detail::web
