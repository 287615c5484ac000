// MemorySessionStore: a SessionStore for the servers of one process: for tests, and for sessions
// that outlive an Endpoint. At its bounds the state of a session that no server has goes, the one
// that was saved longest ago; if there is none, nothing new is taken. Every operation ends inside
// the call.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/mcp/session_store.hpp"

namespace godwit::inline v0 {

class GODWIT_API MemorySessionStore final : public SessionStore {
 public:
  /// Uses sessions and session_store_bytes.
  explicit MemorySessionStore(const Limits& limits = {});
  ~MemorySessionStore() override;

  void save(std::string_view id, std::string_view owner, std::string_view state,
            Done<void> done) override;
  void find(std::string_view id, std::string_view asker, Done<SessionPlace> done) override;
  void release(std::string_view id, std::string_view owner, Done<void> done) override;
  void remove(std::string_view id, Done<void> done) override;

  /// Sessions whose state is kept, and the bytes of it.
  std::size_t sessions() const;
  std::size_t bytes() const;

 private:
  struct Row;
  using Rows = std::list<Row>;

  Result<void> keep(std::string_view id, std::string_view owner, std::string_view state);
  void drop(Rows::iterator row);

  mutable std::mutex mutex_;
  std::size_t most_sessions_;
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Rows owned_;
  Rows free_;  // the one saved last is at the end
  std::unordered_map<std::string_view, Rows::iterator> by_id_;
};

}  // namespace godwit::inline v0
