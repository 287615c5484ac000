// SessionCensus: who has how much, over all endpoints of a server: sessions in one census, bytes
// that sessions keep in another. Asked when a session begins or ends, never for a call.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::detail::web {

class SessionCensus {
 public:
  /// `shard` is the endpoint that the session lives in.
  void add(const IpAddress& client, std::size_t shard, std::size_t amount = 1);
  /// No more than was added.
  void remove(const IpAddress& client, std::size_t shard, std::size_t amount = 1) noexcept;

  std::size_t count(const IpAddress& client) const;
  /// Those who have most, first.
  std::vector<IpAddress> heaviest(std::size_t most) const;
  /// The endpoint other than this one that has most of the client; nothing if none has.
  std::optional<std::size_t> elsewhere(const IpAddress& client, std::size_t shard) const;

 private:
  using Order = std::set<std::pair<std::size_t, IpAddress>>;
  struct Row {
    std::vector<std::size_t> by_shard;
    Order::iterator place;
  };
  void set_count(Row& row, std::size_t count) noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<IpAddress, Row> rows_;
  Order order_;
};

}  // namespace godwit::inline v0::detail::web
