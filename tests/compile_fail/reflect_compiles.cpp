// expect: compiles
#include <string>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema_of.hpp"

struct Weather {
  std::string city{};
  int days = 3;
  static constexpr godwit::Field fields[] = {{"city", "City to look up"},
                                             {.name = "days", .minimum = 1, .has_default = true}};
};

int main() {
  const auto weather = godwit::json::decode<Weather>("{}");
  return weather && !godwit::json::encode(*weather).empty() &&
         godwit::json::schema_of<Weather>().is_object();
}
