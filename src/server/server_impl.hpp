// The inside of a Server: its tables, the present snapshot, the connections.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "catalog.hpp"
#include "godwit/server/server.hpp"

namespace godwit::inline v0 {

namespace detail::server {
class Session;

/// Kinds of change that clients are told of, as bits.
enum ListChange : unsigned { tools_changed = 1, prompts_changed = 2, resources_changed = 4 };
}  // namespace detail::server

struct Server::Impl {
  explicit Impl(ServerOptions options_);

  ServerOptions options;
  Implementation info;
  std::string info_json;  // the same as JSON
  std::shared_ptr<rpc::Router> router;
  std::vector<AccessPolicy> policies;

  /// Snapshots are numbered: a connection looks at the number and takes no lock while it stays.
  std::atomic<std::uint64_t> version{1};
  const std::shared_ptr<std::atomic<std::size_t>> in_flight_bytes =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::shared_ptr<const detail::server::Catalog> catalog();

  /// Changes the tables under the lock, and tells the connections.
  template <class F>
  void change(unsigned changes, F&& edit) {
    {
      const std::lock_guard lock(mutex);
      edit(tables);
      snapshot.reset();
      version.fetch_add(1, std::memory_order_release);
    }
    if (changes != 0) tell(changes);
  }
  /// Tells whoever hears of changes by the bus, which this does, too.
  void tell(unsigned changes);
  void publish(Change change) noexcept;
  /// Tells the connections.
  void hear(const Change& change);
  std::unique_ptr<ChangeBus::Subscription> hearing;
  /// For the news of all sessions: there may be many sessions, and news are few.
  std::mutex news_mutex;

  void enter(const std::shared_ptr<detail::server::Session>& session);
  void leave(detail::server::Session* session);
  std::vector<std::shared_ptr<detail::server::Session>> everyone();

  /// The same caller for all connections that say the same about themselves, as most do.
  std::shared_ptr<const Caller> known(Caller caller);

  /// Of all sessions together.
  std::atomic<std::size_t> session_bytes{0};

  std::int64_t unix_time() const;

  std::mutex mutex;
  detail::server::Tables tables;
  std::shared_ptr<const detail::server::Catalog> snapshot;
  std::unordered_map<detail::server::Session*, std::weak_ptr<detail::server::Session>> sessions;
  std::array<std::weak_ptr<const Caller>, 16> callers;  // those who came last
  std::size_t next_caller = 0;
};

}  // namespace godwit::inline v0
