// expect: godwit: give the enum a fixed underlying type (enum E : int) or specialise EnumNames
#include "godwit/json/decode.hpp"

enum Free { here, there };

int main() { return godwit::json::decode<Free>("1").has_value(); }
