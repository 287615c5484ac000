// expect: compiles
#include <string_view>
#include <utility>

#include "godwit/json/decode.hpp"

enum Fixed : int { small, large };
enum Free { here, there };
template <>
struct godwit::json::EnumNames<Free> {
  static constexpr std::pair<Free, std::string_view> names[] = {{here, "here"}, {there, "there"}};
};

int main() {
  return godwit::json::decode<Fixed>("1").has_value() &&
         godwit::json::decode<Free>("1").has_value();
}
