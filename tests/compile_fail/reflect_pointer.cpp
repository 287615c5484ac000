// expect: godwit: this type has no JSON form; make it a plain struct (an aggregate with default
// values) or specialise godwit::json::Codec for it
#include "godwit/json/schema_of.hpp"

struct Node {
  int* raw{};
};

int main() { return godwit::json::schema_of<Node>().is_object(); }
