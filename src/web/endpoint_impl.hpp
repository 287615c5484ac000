// The inside of an Endpoint: who is talking, and who wants to be called when.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "godwit/http/owned_request.hpp"
#include "godwit/io/ip_address.hpp"
#include "godwit/json/document.hpp"
#include "godwit/mcp/session_store.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/web/endpoint.hpp"
#include "store_call.hpp"

namespace godwit::inline v0 {

namespace detail::web {

class Conversation;
class EventStream;
class HttpSession;
class Lane;
class Relay;
class SessionCensus;
class SessionOrder;
class SessionPlaces;
class SseSession;
struct EndpointGroup;
struct SessionLookup;
struct Undecided;

/// The place of a conversation in the list of those that have mail.
struct ReadyPlace {
  std::uint64_t conversation = 0;
  bool listed = false;
  std::shared_ptr<ReadyPlace> next{};
};

/// Conversations that have mail from other threads. Outlives the endpoint. Needs no memory.
class ReadyList {
 public:
  explicit ReadyList(std::function<void()> wake) : wake_(std::move(wake)) {}
  void add(const std::shared_ptr<ReadyPlace>& place) noexcept;
  std::optional<std::uint64_t> take() noexcept;
  std::size_t size() noexcept;
  /// After a turn: what was added in it waits for the next one.
  void wake_for_the_rest() noexcept;
  /// Nothing is added any more.
  void close() noexcept;

 private:
  void wake_up() noexcept;

  std::mutex mutex_;
  std::function<void()> wake_;
  std::shared_ptr<ReadyPlace> first_;
  std::shared_ptr<ReadyPlace> last_;
  std::size_t size_ = 0;
  bool wake_due_ = false;  // it has mail that was not told of
  bool closed_ = false;
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

}  // namespace detail::web

struct Endpoint::Impl {
  Impl(Service& service_, EndpointOptions options_);
  ~Impl();

  // Requests.

  void handle(const http::Request& request, http::Exchange& exchange);
  /// The same for one that was let in.
  void serve(const http::Request& request, http::Exchange& exchange);
  void post(const http::Request& request, http::Exchange& exchange);
  void get(const http::Request& request, http::Exchange& exchange);
  void end_session(const http::Request& request, http::Exchange& exchange);
  void preflight(const http::Request& request, http::Exchange& exchange);
  void sse(const http::Request& request, http::Exchange& exchange);
  /// Hands the request to whoever has its session; false if that is this one, or nobody.
  bool forwarded(std::string_view session, const http::Request& request, http::Exchange& exchange);
  std::string new_session_id() const;
  /// To the era that the message belongs to.
  void route(const http::Request& request, json::View message, http::Exchange& exchange);
  void stateless(const http::Request& request, json::View message, http::Exchange& exchange);
  void stateful(const http::Request& request, json::View message, http::Exchange& exchange);
  void initialize(const http::Request& request, json::View message, http::Exchange& exchange);
  /// The session that the request names, and what is known about the request; null if there is
  /// none, or it is another one's, which has been answered then.
  detail::web::HttpSession* session_of(const http::Request& request, http::Exchange& exchange,
                                       rpc::Facts& facts);
  /// Answers with an error, under the id of the message if it has one.
  void refuse(const http::Request& request, http::Exchange& exchange, int status, Error error,
              const http::Fields& more = {}, json::View message = {});
  /// The same where what is wrong is the HTTP request.
  void refuse(const http::Request& request, http::Exchange& exchange, int status,
              std::string message, const http::Fields& more = {});
  /// Because a store failed.
  void refuse_for_store(const http::Request& request, http::Exchange& exchange);
  /// Calls `then` with the body, or refuses it.
  template <class Then>
  void parse(const http::Request& request, http::Exchange& exchange, Then&& then);
  /// Refuses a request because too many are under way. Answers and notifications are always let in:
  /// what waits for them could not end otherwise.
  bool too_busy(const http::Request& request, json::View message, http::Exchange& exchange,
                std::size_t in_flight);
  /// Fields that every answer to this request carries.
  http::Fields fields_for(const http::Request& request) const;

  // Admission, in endpoint_admission.cpp.

  /// Whether the request may go on.
  void decide(const http::Request& head, http::Decision& decision);
  void park(const http::Request& request, http::Exchange& exchange, http::PendingDecision pending);
  /// The request of this number is not waited for any more; null if there is none.
  std::unique_ptr<detail::web::Undecided> unpark(std::uint64_t number) noexcept;
  /// It was decided about the request of this number, or it is too late for that. False if no
  /// request that waits has it.
  bool decided(std::uint64_t number) noexcept;
  bool undecided_for_too_long(std::uint64_t number) noexcept;
  void answer(std::unique_ptr<detail::web::Undecided> request,
              const http::Outcome& outcome) noexcept;
  http::Response forbidden(const http::Request& request, std::string why) const;

  // Sessions that are in a store, in session_lookup.cpp.

  /// Looks for a session that is not in memory. True if it is settled: it is in memory now, or
  /// there is none. Otherwise the request has been answered, or waits.
  bool find_stored(std::string_view id, const http::Request& request, http::Exchange& exchange);
  enum class Found : std::uint8_t { settled, failed };
  /// What the store has found: restores it if it is to live here. `belongs` says whether somebody
  /// who wants it may have it.
  template <class Belongs>
  Found take_found(const std::string& id, Result<SessionPlace> place, const IpAddress& client,
                   Belongs&& belongs);
  void park(detail::web::SessionLookup& lookup, const http::Request& request,
            http::Exchange& exchange);
  /// It does not wait any more.
  void leave(const http::OwnedRequest& request) noexcept;
  std::unique_ptr<detail::web::SessionLookup> end_lookup(std::uint64_t number) noexcept;
  /// The look-up of this number was answered, or takes too long. False if there is none.
  bool looked_up(std::uint64_t number) noexcept;
  bool lookup_takes_too_long(std::uint64_t number) noexcept;
  void settle(detail::web::SessionLookup& lookup, Result<SessionPlace> place) noexcept;

  // Conversations.

  /// A call from outside, on the stack. Code of the program may run in it that calls again, or
  /// destroys the Endpoint; what ends meanwhile is put away when the outermost call is over,
  /// whether it returns or throws. Kept, and not only watched, because the conversation that called
  /// out goes on with its streams; a count and not a shared_ptr, because every request does this.
  class Entered {
   public:
    explicit Entered(Impl& impl) noexcept : impl_(impl) { ++impl_.depth; }
    ~Entered() {
      if (impl_.depth == 1) impl_.settle();
      if (--impl_.depth == 0 && impl_.orphaned) delete &impl_;
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Impl& impl_;
  };

  /// The Endpoint is being destroyed: ends everything.
  void close() noexcept;
  /// Runs something of a conversation. What it throws, which is the end of memory, ends this
  /// conversation and nothing else.
  template <class F>
  void survive(detail::web::Conversation& conversation, F&& run) noexcept;
  /// The conversation is over; it stays until the call from outside is.
  void end(detail::web::Conversation& conversation) noexcept;
  /// It is being destroyed.
  void forget_ended(detail::web::Conversation& conversation) noexcept;
  void settle() noexcept;
  void tell_numbers() noexcept;
  void retire(detail::web::Lane& lane) noexcept;
  void remove(detail::web::HttpSession& session) noexcept;
  void remove(detail::web::SseSession& session) noexcept;

  // Room for a new session, in session_room.cpp.

  /// Whom the sessions of a request are counted for.
  IpAddress client_of(const http::Request& request) const;
  /// Lets an idle session give way if there are too many. False, if there is none, or the refusal
  /// has been answered.
  bool has_room(const http::Request& request, json::View message, http::Exchange& exchange);
  /// The same, without an answer.
  bool makes_room(const IpAddress& client);
  bool make_room(const IpAddress& client, bool share_is_full);
  /// Ends it; false if there is none.
  bool give_way(detail::web::HttpSession* session) noexcept;
  /// Ends the idle session of this client that was used longest ago.
  bool end_oldest(const IpAddress& client) noexcept;
  bool end_oldest_of_heaviest();
  bool too_many_bytes() const noexcept;
  void free_bytes();
  void run_at(std::size_t other, Function<void(Impl&)> work);

  Service& service;
  EndpointOptions options;
  std::shared_ptr<const rpc::PeerOptions> peer_options;
  Limits limits;
  Log log;
  const Clock* clock;
  std::shared_ptr<const rpc::Router> router;
  json::ParseOptions parse_options;
  std::shared_ptr<detail::web::ReadyList> ready;

  json::Document document;
  bool parsing = false;  // the document is in use
  std::string buffer;    // messages are written here, one at a time

  // Before those who are counted.
  std::size_t resumption_bytes = 0;  // of Limits::resumption_bytes
  detail::web::StoreCall<void>::Spare spare_call;
  detail::web::SharedCount open_exchanges;
  detail::web::SharedCount session_count;                   // of both kinds
  std::shared_ptr<detail::web::SessionCensus> census;       // of sessions
  std::shared_ptr<detail::web::SessionCensus> byte_census;  // of what they keep
  std::unique_ptr<detail::web::SessionOrder> order;

  std::uint64_t last_number = 0;
  std::unordered_map<std::uint64_t, detail::web::Conversation*> conversations;
  std::set<std::pair<TimePoint, std::uint64_t>> deadlines;

  detail::web::Conversation* ended = nullptr;  // a list that needs no memory

  // From one list to the other without any memory.
  std::list<std::unique_ptr<detail::web::Lane>> idle_lanes;
  std::list<std::unique_ptr<detail::web::Lane>> busy_lanes;
  std::unordered_map<std::string, std::unique_ptr<detail::web::HttpSession>, detail::web::TextHash,
                     std::equal_to<>>
      sessions;
  std::unique_ptr<detail::web::EventStream> spare_stream;
  std::unordered_map<std::string, std::unique_ptr<detail::web::SseSession>, detail::web::TextHash,
                     std::equal_to<>>
      sse_sessions;
  std::shared_ptr<detail::web::EndpointGroup> group;   // null if there is no other
  std::size_t shard = 0;                               // its place in the group
  std::unique_ptr<detail::web::SessionPlaces> places;  // of sessions; null if all are here
  std::unordered_set<std::shared_ptr<detail::web::Relay>> relays;
  std::map<std::uint64_t, std::unique_ptr<detail::web::Undecided>> undecided;
  std::map<std::uint64_t, std::unique_ptr<detail::web::SessionLookup>> lookups;
  std::unordered_map<std::string_view, std::uint64_t> lookup_numbers;  // by id
  std::size_t undecided_bytes = 0;  // of requests that wait, also for a look-up
  bool draining = false;
  unsigned depth = 0;     // of calls from outside on the stack
  bool orphaned = false;  // the Endpoint is gone; the last Entered deletes this
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

}  // namespace godwit::inline v0
