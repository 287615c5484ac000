// expect: compiles
#include <string>
#include <string_view>

#include "godwit/json/decode.hpp"

struct Borrowed {
  std::string_view city{};
};
struct Owned {
  std::string city{};
};

int main() {
  godwit::json::Document document;
  const auto root = document.parse("{}");
  return root && godwit::json::decode<Borrowed>(*root).has_value() &&
         godwit::json::decode<Owned>("{}").has_value();
}
