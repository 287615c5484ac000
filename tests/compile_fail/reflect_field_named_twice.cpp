// expect: godwit: 'fields' names the same field twice; put all that it says into one entry
#include <string>

#include "godwit/json/encode.hpp"

struct Weather {
  std::string city{};
  static constexpr godwit::Field fields[] = {{"city", "City to look up"},
                                             {.name = "city", .max_length = 5}};
};

int main() { return godwit::json::encode(Weather{}).empty(); }
