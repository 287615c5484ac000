// expect: godwit: 'fields' names a field that this struct does not have; check the spelling
#include <string>

#include "godwit/json/decode.hpp"

struct Weather {
  std::string city{};
  static constexpr godwit::Field fields[] = {{"town", "City to look up"}};
};

int main() { return godwit::json::decode<Weather>("{}").has_value(); }
