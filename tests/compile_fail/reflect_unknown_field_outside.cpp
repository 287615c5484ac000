// expect: godwit: 'fields' names a field that this struct does not have; check the spelling
#include <string>

#include "godwit/json/schema_of.hpp"

struct Weather {
  std::string city{};
};
template <>
struct godwit::Describe<Weather> {
  static constexpr godwit::Field fields[] = {{"town", "City to look up"}};
};

int main() { return godwit::json::schema_of<Weather>().is_object(); }
