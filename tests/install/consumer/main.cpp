// What a user of the installed library writes first.
#include <godwit/base/version.hpp>
#include <godwit/json.hpp>
#include <iostream>

int main() {
  auto value = godwit::json::parse("[1,2]");
  if (!value || value->dump() != "[1,2]") return 1;
  std::cout << godwit::version() << '\n';
  return 0;
}
