// expect: godwit: this type has no JSON form; make it a plain struct (an aggregate with default
// values) or specialise godwit::json::Codec for it
#include "godwit/json/encode.hpp"

class Hidden {
 public:
  int shown{};

 private:
  int hidden_{};
};

int main() { return godwit::json::encode(Hidden{}).empty(); }
