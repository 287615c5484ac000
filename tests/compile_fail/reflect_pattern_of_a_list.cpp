// expect: godwit: min_length, max_length and pattern are for fields that hold a string
#include <string>
#include <vector>

#include "godwit/json/decode.hpp"

struct Weather {
  std::vector<std::string> cities{};
  static constexpr godwit::Field fields[] = {{.name = "cities", .pattern = "^[A-Z]"}};
};

int main() { return godwit::json::decode<Weather>("{}").has_value(); }
