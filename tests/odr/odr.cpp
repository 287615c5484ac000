// Linked from the objects of every module with -flto -Werror=odr: if two of them define one name in
// two ways, this program does not link. What it does when it runs is of no interest.
#include <godwit/godwit.hpp>

int main() {
  godwit::Server server{{.name = "odr", .version = "1"}};
  return 0;
}
