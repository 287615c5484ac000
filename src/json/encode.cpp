#include "godwit/json/encode.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace godwit::inline v0::json {

double detail::shortest(float value) noexcept {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  double result = static_cast<double>(value);  // stays so for NaN and infinities
  if (error == std::errc() && std::isfinite(value)) std::from_chars(digits, end, result);
  return result;
}

}  // namespace godwit::inline v0::json
