// expect: godwit: a const field cannot be decoded; leave out the const
#include <string>

#include "godwit/json/decode.hpp"

struct Circle {
  const std::string kind = "circle";
};

int main() { return godwit::json::decode<Circle>("{}").has_value(); }
