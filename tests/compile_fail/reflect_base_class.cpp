// expect: godwit: a struct with a base class cannot be reflected; make the base a field, or
// specialise godwit::json::Codec
#include "godwit/json/encode.hpp"

struct Base {
  int id{};
};
struct Derived : Base {
  int more{};
};

int main() { return godwit::json::encode(Derived{}).empty(); }
