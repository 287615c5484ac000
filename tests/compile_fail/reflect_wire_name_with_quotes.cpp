// expect: godwit: a name on the wire must not hold quotes, backslashes or control characters
#include <string>

#include "godwit/json/encode.hpp"

struct Weather {
  std::string city{};
  static constexpr godwit::Field fields[] = {{.name = "city", .rename = "\"city\""}};
};

int main() { return godwit::json::encode(Weather{}).empty(); }
