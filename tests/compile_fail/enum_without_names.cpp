// expect: godwit: this enum has no named value from -128 to 127 (0 to 255 if its type
#include "godwit/json/encode.hpp"

enum class Port : int { http = 8080 };

int main() { return godwit::json::encode(Port::http).empty(); }
