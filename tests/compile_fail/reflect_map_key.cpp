// expect: godwit: the keys of a map must be std::string, as in JSON
#include <map>
#include <string>

#include "godwit/json/encode.hpp"

int main() { return godwit::json::encode(std::map<int, std::string>()).empty(); }
