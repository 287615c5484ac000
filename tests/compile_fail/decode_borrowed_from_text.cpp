// expect: godwit: a type with std::string_view, RawView or View inside would point into text that
// is gone after decode(text); parse a Document and decode its View instead
#include <optional>
#include <string_view>
#include <vector>

#include "godwit/json/decode.hpp"

struct Inner {
  std::optional<std::string_view> city{};
};
struct Outer {
  std::vector<Inner> inner{};
};

int main() { return godwit::json::decode<Outer>("{}").has_value(); }
