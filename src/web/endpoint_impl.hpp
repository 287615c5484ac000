// The inside of an Endpoint: who is talking, and who wants to be called when.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/web/endpoint.hpp"

namespace godwit::inline v0 {

namespace detail {

class Conversation;
class EventStream;
class HttpSession;
class Lane;
class Relay;
class SseSession;
struct EndpointGroup;

/// Conversations that have mail from other threads. Outlives the endpoint.
class ReadyList {
 public:
  explicit ReadyList(std::function<void()> wake) : wake_(std::move(wake)) {}
  void add(std::uint64_t conversation);
  std::vector<std::uint64_t> take();
  void close();

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<std::uint64_t> ready_;
};

/// How many there are in one endpoint, and in all endpoints of a server together. The latter may
/// run ahead of a look at it on another thread, by one for each thread.
class SharedCount {
 public:
  void operator++() noexcept {
    ++here_;
    all_->fetch_add(1, std::memory_order_relaxed);
  }
  void operator--() noexcept {
    --here_;
    all_->fetch_sub(1, std::memory_order_relaxed);
  }
  std::size_t here() const noexcept { return here_; }
  std::size_t all() const noexcept { return all_->load(std::memory_order_relaxed); }
  /// Before anything is counted.
  void join(const SharedCount& other) { all_ = other.all_; }

 private:
  std::size_t here_ = 0;
  std::shared_ptr<std::atomic<std::size_t>> all_ = std::make_shared<std::atomic<std::size_t>>(0);
};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace detail

struct Endpoint::Impl {
  Impl(Server& server_, EndpointOptions options_);
  ~Impl();

  // Requests.

  void handle(const http::Request& request, http::Exchange& exchange);
  void post(const http::Request& request, http::Exchange& exchange);
  void get(const http::Request& request, http::Exchange& exchange);
  void end_session(const http::Request& request, http::Exchange& exchange);
  void preflight(const http::Request& request, http::Exchange& exchange);
  void sse(const http::Request& request, http::Exchange& exchange);
  /// Hands the request to the endpoint that has its session; false if that is this one.
  bool forwarded(std::string_view session, const http::Request& request, http::Exchange& exchange);
  std::string new_session_id() const;
  /// To the era that the message belongs to.
  void route(const http::Request& request, json::View message, http::Exchange& exchange);
  void stateless(const http::Request& request, json::View message, http::Exchange& exchange);
  void stateful(const http::Request& request, json::View message, http::Exchange& exchange);
  void initialize(const http::Request& request, json::View message, http::Exchange& exchange);
  /// The session that the request names; null if there is none, which has been answered then.
  detail::HttpSession* session_of(const http::Request& request, http::Exchange& exchange);
  /// Answers with an error, under the id of the message if it has one.
  void refuse(const http::Request& request, http::Exchange& exchange, int status, Error error,
              const http::Fields& more = {}, json::View message = {});
  /// The same where what is wrong is the HTTP request.
  void refuse(const http::Request& request, http::Exchange& exchange, int status,
              std::string message, const http::Fields& more = {});
  /// Calls `then` with the body, or refuses it.
  template <class Then>
  void parse(const http::Request& request, http::Exchange& exchange, Then&& then);
  /// Refuses a request because too many are under way. Answers and notifications are always let in:
  /// what waits for them could not end otherwise.
  bool too_busy(const http::Request& request, json::View message, http::Exchange& exchange,
                std::size_t in_flight);
  /// Fields that every answer to this request carries.
  http::Fields fields_for(const http::Request& request) const;

  // Conversations.

  /// After each call from outside: what has ended is put away.
  void settle();
  void tell_numbers();
  void retire(std::unique_ptr<detail::Lane> lane);
  void end(detail::HttpSession& session);

  Server& server;
  EndpointOptions options;
  Limits limits;
  Log log;
  const Clock* clock;
  std::shared_ptr<const rpc::Router> router;
  std::shared_ptr<const rpc::PeerOptions> peer_options;
  json::ParseOptions parse_options;
  std::shared_ptr<detail::ReadyList> ready;

  json::Document document;
  bool parsing = false;  // the document is in use
  std::string buffer;    // messages are written here, one at a time

  // Before those who are counted.
  detail::SharedCount open_exchanges;
  detail::SharedCount session_count;  // of both kinds

  std::uint64_t last_number = 0;
  std::unordered_map<std::uint64_t, detail::Conversation*> conversations;
  std::set<std::pair<TimePoint, std::uint64_t>> deadlines;

  std::vector<std::unique_ptr<detail::Lane>> idle_lanes;
  std::unordered_map<detail::Lane*, std::unique_ptr<detail::Lane>> busy_lanes;
  std::vector<detail::Lane*> finished_lanes;
  std::unordered_map<std::string, std::unique_ptr<detail::HttpSession>, detail::TextHash,
                     std::equal_to<>>
      sessions;
  std::vector<std::string> ended_sessions;
  std::unique_ptr<detail::EventStream> spare_stream;
  std::unordered_map<std::string, std::unique_ptr<detail::SseSession>, detail::TextHash,
                     std::equal_to<>>
      sse_sessions;
  std::vector<std::string> ended_sse_sessions;
  std::shared_ptr<detail::EndpointGroup> group;  // null if there is no other
  std::size_t shard = 0;                         // its place in the group
  std::unordered_set<std::shared_ptr<detail::Relay>> relays;
  bool draining = false;
  unsigned depth = 0;  // of requests on the stack
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

}  // namespace godwit::inline v0
