#include "session_census.hpp"

#include <algorithm>

namespace godwit::inline v0::detail::web {

/// Moves the node, so that nothing has to be allocated.
void SessionCensus::set_count(Row& row, std::size_t count) noexcept {
  auto node = order_.extract(row.place);
  node.value().first = count;
  row.place = order_.insert(std::move(node)).position;
}

void SessionCensus::add(const IpAddress& client, std::size_t shard, std::size_t amount) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = rows_.try_emplace(client);
  Row& row = at->second;
  try {
    if (row.by_shard.size() <= shard) row.by_shard.resize(shard + 1);
    if (fresh) row.place = order_.emplace(0, client).first;
  } catch (...) {
    if (fresh) rows_.erase(at);
    throw;
  }
  row.by_shard[shard] += amount;
  set_count(row, row.place->first + amount);
}

void SessionCensus::remove(const IpAddress& client, std::size_t shard,
                           std::size_t amount) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = rows_.find(client);
  if (at == rows_.end()) return;
  Row& row = at->second;
  row.by_shard[shard] -= amount;
  if (row.place->first > amount) return set_count(row, row.place->first - amount);
  order_.erase(row.place);
  rows_.erase(at);
}

std::size_t SessionCensus::count(const IpAddress& client) const {
  const std::lock_guard lock(mutex_);
  const auto at = rows_.find(client);
  return at == rows_.end() ? 0 : at->second.place->first;
}

std::vector<IpAddress> SessionCensus::heaviest(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<IpAddress> out;
  for (auto at = order_.rbegin(); at != order_.rend() && out.size() < most; ++at) {
    out.push_back(at->second);
  }
  return out;
}

std::optional<std::size_t> SessionCensus::elsewhere(const IpAddress& client,
                                                    std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto at = rows_.find(client);
  if (at == rows_.end()) return std::nullopt;
  const auto& counts = at->second.by_shard;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i != shard && counts[i] > 0 && (!best || counts[i] > counts[*best])) best = i;
  }
  return best;
}

}  // namespace godwit::inline v0::detail::web
