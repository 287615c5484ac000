// Session: one connection of a Server: what the handshake of a stateful client agreed on, what a
// stateless one listens for, and the way to tell the client something from any thread.
//
// Threads: the peer's, except where said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>

#include "catalog.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/server/server.hpp"
#include "kept_bytes.hpp"
#include "mcp/era/codec.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "news.hpp"
#include "runs.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail::server {

/// Shared because a call that has left the stack (Late) may outlive the connection and asks this.
class Session final : public Service::Session, public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<Server::Impl> server, rpc::Peer& peer, std::shared_ptr<void> user);
  ~Session() override;

  Server::Impl& server() const noexcept { return *server_; }
  rpc::Peer& peer() noexcept { return peer_; }
  const rpc::Poster& poster() const noexcept { return poster_; }  // any thread
  void* user() const noexcept { return user_.get(); }             // any thread
  /// The present snapshot; no lock while nothing has changed.
  const std::shared_ptr<const Catalog>& catalog();

  // For carriers.

  void set_stateless() override { only_stateless_ = true; }
  bool only_stateless() const noexcept { return only_stateless_; }
  bool established() const noexcept override { return codec_ != nullptr; }
  bool resumes_streams() const noexcept override {
    return codec_ && codec_->carrier_rules().primed_streams;
  }
  std::size_t kept_bytes() const noexcept override {
    return kept_.here() + values_bytes_.load(std::memory_order_relaxed);
  }
  /// Whether the program, or an extension that it declared, added a method of this name.
  bool has_method(std::string_view name) override;
  std::uint64_t changes() const noexcept override {
    return changes_.load(std::memory_order_relaxed) + (runs_ ? runs_->changes() : 0);
  }
  /// What save() would write is not what it was. Said each time that a client wants something
  /// changed, also if it was so before: the client must not be told what was not kept.
  /// Any thread.
  void changed() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }
  Result<std::string> save() const override;
  std::vector<rpc::Route> saved_routes() const override;
  Result<void> restore(std::string_view state) override;

  // The stateful conversation, if there is one.

  /// An error, and nothing has begun, if the client says more about itself than is kept.
  std::optional<Error> begin(const mcp::Codec& codec,
                             std::shared_ptr<const ServerCapabilities> promised, Caller caller);
  const ServerCapabilities& promised() const noexcept { return *promised_; }
  /// What the handshake agreed on; null before.
  const mcp::Codec* codec() const noexcept { return codec_; }
  const std::shared_ptr<const Caller>& caller() const noexcept { return caller_; }
  /// Who made the handshake; null if nobody has verified that.
  void set_identity(std::shared_ptr<const rpc::Identity> identity) {
    const std::lock_guard lock(server_->news_mutex);
    identity_ = std::move(identity);
  }
  void set_initialized() noexcept {
    initialized_ = true;
    changed();
  }
  void set_level(LoggingLevel level) noexcept {
    level_.store(level, std::memory_order_relaxed);
    changed();
  }
  LoggingLevel level() const noexcept { return level_.load(std::memory_order_relaxed); }  // any
  /// An error if there are too many already.
  std::optional<Error> subscribe(std::string uri);
  void unsubscribe(const std::string& uri);

  /// What the program keeps in it, one of each type. Any thread.
  std::shared_ptr<void> state(const std::type_info& type, Exchange::MakeState make);
  /// What the program keeps in it as JSON, by key. Any thread.
  std::optional<std::string> value(std::string_view key) const;
  Result<void> set_value(std::string_view key, std::string json);

  // Calls whose handlers wait for answers of the client (runs.cpp).

  /// Writes them as one JSON value.
  void save_runs(json::Writer& writer) const;
  /// Takes over the calls of a session that was saved, into this one, which has had its handshake.
  /// Those that cannot be served here are answered with an error at once. An error, and nothing has
  /// changed, if they are none that were saved by this.
  Result<void> restore_runs(json::View saved_runs);
  Runs& runs() {
    if (!runs_) runs_ = std::make_unique<Runs>();
    return *runs_;
  }
  bool restores_runs() const noexcept { return runs_ && runs_->is_restoring(); }

  // Listening of stateless clients.

  struct Listen {
    const mcp::Codec* codec = nullptr;
    std::string id;  // as JSON
    std::shared_ptr<const rpc::Identity> identity;
    rpc::Route route = 0;  // that it came by
    unsigned changes = 0;
    std::set<std::string> uris;
    /// Of extensions, by the filter's name.
    std::map<std::string, std::set<std::string>> others;
    /// Answers the request when the connection comes to its end.
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
    KeptClaim claim;  // for the bytes of all this
  };
  /// False if there are too many, or one of this id.
  bool listen(const rpc::Id& id, Listen listen);
  /// True if that request was one.
  bool end_listen(const rpc::Id& id);
  std::size_t listens() const noexcept { return listens_.size(); }
  /// What is kept of the client's words.
  KeptBytes& kept() noexcept { return kept_; }

  // Telling. Any thread.

  void tell_later(unsigned changes);
  /// Tells those of them who are this caller.
  void tell_later(unsigned changes, std::shared_ptr<const rpc::Identity> caller);
  void tell_updated_later(const std::string& uri);
  void post(Function<void()> work) { poster_(std::move(work)); }
  /// On the peer's thread: a notification of an extension, to those whose filter has the value.
  void tell_filtered(const std::string& filter, const std::string& value, const std::string& method,
                     const RawJson& params);

  // Reused from call to call, while they are small: there may be many sessions.
  std::string scratch;
  json::Document document;
  static constexpr std::size_t most_reused = 8u << 10;
  void trim() {
    if (scratch.capacity() > most_reused) std::string().swap(scratch);
  }

 private:
  /// Calls `each` with every listen that there is now. Telling runs code of the carrier, which may
  /// end any of them, or the peer.
  template <class F>
  void for_each_listen(F&& each);
  bool promised(unsigned change) const;
  void tell_changes(unsigned changes, const rpc::Identity* caller);
  void tell_updated(const std::string& uri);
  News& news();
  void post_news();
  void tell_news();
  void notify(mcp::Operation operation, const Listen* listen, std::string_view uri);

  std::shared_ptr<Server::Impl> server_;
  rpc::Peer& peer_;
  rpc::Poster poster_;
  std::shared_ptr<void> user_;
  std::shared_ptr<const Catalog> catalog_;
  std::uint64_t catalog_version_ = 0;

  bool only_stateless_ = false;
  std::atomic<std::uint64_t> changes_{0};
  KeptBytes kept_;
  KeptBytes values_kept_;                     // guarded as the values are
  std::atomic<std::size_t> values_bytes_{0};  // the same, for the peer's thread
  const mcp::Codec* codec_ = nullptr;
  std::shared_ptr<const Caller> caller_;
  std::shared_ptr<const ServerCapabilities> promised_;
  std::shared_ptr<const rpc::Identity> identity_;
  bool initialized_ = false;
  /// Guarded by the mutex of the server: few programs keep anything, and there may be many
  /// sessions.
  std::unique_ptr<std::map<std::type_index, std::shared_ptr<void>>> states_;
  using Values = std::map<std::string, std::string, std::less<>>;
  std::unique_ptr<Values> values_;
  std::atomic<LoggingLevel> level_{LoggingLevel::info};
  std::set<std::string> subscribed_;
  std::unordered_map<rpc::Id, Listen, rpc::IdHash> listens_;
  std::atomic<unsigned> waiting_changes_{0};
  /// Null while there are none. Guarded by Server::Impl::news_mutex, as are changes of identity_,
  /// subscribed_ and listens_, where other threads look whether something is of interest.
  std::unique_ptr<News> news_;
  std::unique_ptr<Runs> runs_;  // null while there are none, as for most sessions
};

}  // namespace godwit::inline v0::detail::server
