// expect: godwit: minimum and maximum are for fields that hold a number
#include <string>

#include "godwit/json/schema_of.hpp"

struct Weather {
  std::string city{};
  static constexpr godwit::Field fields[] = {{.name = "city", .minimum = 1}};
};

int main() { return godwit::json::schema_of<Weather>().is_object(); }
