#include "godwit/json/encode.hpp"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace godwit::inline v0::json {

double detail::shortest(float value) noexcept {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  double result = static_cast<double>(value);  // stays so for NaN and infinities
  if (error == std::errc() && std::isfinite(value)) std::from_chars(digits, end, result);
  return result;
}

void detail::no_enum_name(std::string_view type, std::string_view value) {
  throw TypeError("godwit: the value " + std::string(value) + " of the enum " + std::string(type) +
                  " has no name and cannot be written; specialise godwit::json::EnumNames for it "
                  "(names are found by themselves from -128 to 127, or from 0 to 255 if its type "
                  "is unsigned)");
}

}  // namespace godwit::inline v0::json
