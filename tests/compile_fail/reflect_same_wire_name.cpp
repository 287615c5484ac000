// expect: godwit: two fields of this struct have the same name on the wire; check 'rename'
#include <string>

#include "godwit/json/decode.hpp"

struct Weather {
  std::string city{};
  std::string town{};
  static constexpr godwit::Field fields[] = {{.name = "town", .rename = "city"}};
};

int main() { return godwit::json::decode<Weather>("{}").has_value(); }
