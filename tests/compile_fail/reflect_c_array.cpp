// expect: godwit: a struct with a C array cannot be reflected; use std::array or std::string
#include <string>

#include "godwit/json/decode.hpp"

struct Record {
  int id{};
  char name[16]{};
  std::string text{};
};

int main() { return godwit::json::decode<Record>("{}").has_value(); }
