// expect: godwit: params are an object or an array: pass a struct, a map, a vector, a std::tuple
// (by position), json::Value or RawJson
#include "godwit/rpc/peer.hpp"

void tell(godwit::rpc::Peer& peer) { peer.notify("sum", 42); }

int main() {}
