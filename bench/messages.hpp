// The messages that the benchmarks share, and the structs they decode into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// A call of 280 bytes as a tool would get it: numbers, flags and short texts.
inline const std::string small_call =
    R"({"jsonrpc":"2.0","id":1017,"method":"place_order","params":{"symbol":"GODW.NZ",)"
    R"("account":"desk-7/algos","side":"buy","quantity":1250,"limit":104.3875,"stop":99.5,)"
    R"("client_tag":"rebalance 2026-11-16 leg 3 of 12, passive then cross","day_only":true,)"
    R"("timeout_ms":1500,"urgency":3})"
    "}";

struct BorrowedOrder {
  std::string_view symbol{};
  std::string_view account{};
  std::string_view side{};
  std::int64_t quantity{};
  double limit{};
  double stop{};
  std::string_view client_tag{};
  bool day_only{};
  std::uint32_t timeout_ms{};
  int urgency{};
};

struct OwnedOrder {
  std::string symbol{};
  std::string account{};
  std::string side{};
  std::int64_t quantity{};
  double limit{};
  double stop{};
  std::string client_tag{};
  bool day_only{};
  std::uint32_t timeout_ms{};
  int urgency{};
};

struct Placed {
  std::int64_t order{};
  std::string_view symbol{};
  double limit{};
};

/// About 10 KB: forty such orders in one call.
inline std::string large_call() {
  std::string text = R"({"jsonrpc":"2.0","id":1018,"method":"place_orders","params":{"orders":[)";
  const std::size_t begin = small_call.find(R"({"symbol")");
  const std::string order = small_call.substr(begin, small_call.size() - begin - 1);
  for (int i = 0; i < 48; ++i) {
    if (i > 0) text += ',';
    text += order;
  }
  return text + "]}}";
}

}  // namespace bench
