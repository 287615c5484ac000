// expect: godwit: this type has no JSON form; make it a plain struct (an aggregate with default
// values) or specialise godwit::json::Codec for it
#include "godwit/json/decode.hpp"

struct Made {
  explicit Made(int n) : number(n) {}
  int number;
};

int main() { return godwit::json::decode<Made>("{}").has_value(); }
