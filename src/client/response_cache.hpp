// ResponseCache: answers that said how long they are good. Bounded in number and bytes; the one
// that ends first goes first. One session is one identity, so private answers are safe in it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "godwit/base/clock.hpp"
#include "mcp/era/operation.hpp"

namespace godwit::inline v0::detail::client {

class ResponseCache {
 public:
  /// The JSON of the result; nullptr if it is not there or too old.
  const std::string* find(const std::string& key, TimePoint now);
  void put(std::string key, mcp::Operation operation, std::string_view result, TimePoint until);
  /// Forgets all answers of an operation.
  void drop(mcp::Operation operation);
  /// Forgets what was read from this uri, from a part of it and from what it is a part of.
  void drop_reads(std::string_view uri);
  void clear();
  bool empty() const noexcept { return entries_.empty(); }

  /// What an answer is kept under.
  static std::string key(mcp::Operation operation, std::string_view members);
  /// Of the answers to these operations copies may be kept.
  static bool keeps(mcp::Operation operation) noexcept;

 private:
  // Enough for the lists of a large server and what a conversation reads; never a matter of what
  // the server wants.
  static constexpr std::size_t most_entries = 256;
  static constexpr std::size_t most_bytes = 16u << 20;

  struct Entry {
    mcp::Operation operation;
    std::string result;
    TimePoint until;
  };
  using Entries = std::unordered_map<std::string, Entry>;
  Entries::iterator erase(Entries::iterator at);

  Entries entries_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::inline v0::detail::client
