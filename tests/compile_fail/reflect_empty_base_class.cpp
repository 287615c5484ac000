// expect: godwit: a struct with a base class cannot be reflected; make the base a field, or
// specialise godwit::json::Codec
#include "godwit/json/decode.hpp"

struct Base {};
struct Derived : Base {
  int more{};
};

int main() { return godwit::json::decode<Derived>("{}").has_value(); }
