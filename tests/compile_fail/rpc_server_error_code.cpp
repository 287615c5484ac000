// expect: outside_the_server_range
#include "godwit/rpc/error_code.hpp"

int main() {
  constexpr godwit::rpc::ServerErrorCode code(-1);
  return code.value() == 0;
}
