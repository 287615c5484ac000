#include "server_state.hpp"

#include <algorithm>
#include <ctime>

#include "connection.hpp"
#include "godwit/base/rollback.hpp"

namespace godwit::inline v0::http {

namespace {

/// How long the server waits for requests that were sent before the clients could know that it
/// goes. Closing with one unread would reset the connection.
constexpr Duration last_requests = std::chrono::milliseconds(50);

/// The part of all places that connections keep although upgraded ones are quiet.
constexpr std::size_t least_share = 16;
/// Connections that are looked at for one that is idle.
constexpr int tries_for_room = 16;

/// Time-outs of seconds need no finer clock than a quarter of the shortest, and one walk over all
/// connections a second costs less than a timer of the system for each.
Duration tick_of(const Limits& limits) {
  const Duration shortest =
      std::min({limits.http_header_time, limits.http_body_idle, limits.http_request_time,
                limits.admission_time, limits.http_keep_alive, limits.write_stall});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace

ServerState::ServerState(Loop& loop_, Handler& handler_, HttpServerOptions options_)
    : loop(loop_),
      handler(handler_),
      options(std::move(options_)),
      sweep_(loop_, [this] { gone_.clear(); }),
      ticker_(loop_),
      tick_(tick_of(options.limits)),
      drain_timer_(loop_),
      last_requests_timer_(loop_),
      tell_drained_(loop_,
                    [this] {
                      drain_timer_.cancel();
                      if (auto done = std::exchange(drained_, nullptr)) done();
                    }),
      last_(loop_, [] {}) {
  if (!options.body_bytes) options.body_bytes = std::make_shared<std::atomic<std::size_t>>(0);
}

ServerState::~ServerState() = default;

void ServerState::accept(Stream stream) noexcept {
  const auto full = [this] { return connections.size() - refused_ >= options.limits.connections; };
  bool room = false;
  try {
    room = !full() || (make_room() && !full());
  } catch (...) {
    options.log.caught("no room could be made for a connection");
  }
  if (ended_) return;
  if (!room || draining) {
    return refuse(std::move(stream), "the server has too many connections; try again later");
  }
  if (Connection* const made = add(std::move(stream))) made->start();
}

bool ServerState::make_room() {
  // Where most connections are upgraded ones, a newcomer would be the only one that is idle here.
  const bool few = connections.size() <= options.limits.connections / least_share;
  if (few && options.make_room && options.make_room()) return true;
  for (int i = 0; i < tries_for_room && !connections.empty(); ++i) {
    Connection& oldest = *connections.front();
    if (oldest.close_if_idle()) return true;
    // Not looked at again soon, so that the cost does not grow with the number of busy ones.
    connections.splice(connections.end(), connections, connections.begin());
  }
  return options.make_room && options.make_room();
}

void ServerState::turn_away(Stream stream) noexcept {
  refuse(std::move(stream), "your address has too many connections; try again later");
}

void ServerState::refuse(Stream stream, std::string_view why) noexcept {
  if (refused_ >= most_refused) return;
  Connection* const made = add(std::move(stream));
  if (!made) return;
  ++refused_;
  made->refuse(503, why);
}

/// Null if there is no memory for it; then it is closed.
Connection* ServerState::add(Stream stream) noexcept {
  try {
    start_ticking();
    connections.push_back(std::make_unique<Connection>(*this, std::move(stream)));
  } catch (...) {
    options.log.caught("a connection was dropped");
    return nullptr;
  }
  Connection& connection = *connections.back();
  connection.place = std::prev(connections.end());
  return &connection;
}

void ServerState::make_room_for_bodies() noexcept {
  const std::size_t most = options.limits.process_body_bytes;
  for (auto at = large.begin(); at != large.end();) {
    if (options.body_bytes->load(std::memory_order_relaxed) <= most) return;
    Connection& oldest = **at++;
    oldest.refuse_body();
  }
}

void ServerState::remove(Connection& connection) noexcept {
  if (connection.refused) --refused_;
  connection.uncount_body();
  for (Walk* walk = walks_; walk; walk = walk->outer) {
    if (walk->next == connection.place) ++walk->next;
  }
  gone_.splice(gone_.end(), connections, connection.place);
  sweep_.signal();
  if (draining) check_drained();
}

template <class F>
void ServerState::walk(F&& each) {
  Walk walk{connections.begin(), walks_};
  walks_ = &walk;
  const Rollback leave([&] { walks_ = walk.outer; });
  while (walk.next != connections.end()) each(**walk.next++);
}

void ServerState::start_ticking() {
  if (ticking_) return;
  ticker_.start(tick_, [this] { tick(); });
  ticking_ = true;
}

void ServerState::tick() {
  const TimePoint time = clock->now();
  walk([&](Connection& connection) { connection.tick(time); });
  ticking_ = false;
  if (!connections.empty()) start_ticking();
}

std::string_view ServerState::ok_and_date() {
  const std::int64_t second = std::time(nullptr);
  if (second != date_second_) {
    date_second_ = second;
    const std::time_t time = second;
    std::tm parts{};
    gmtime_r(&time, &parts);
    static constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    // Not strftime, which speaks the language of the process.
    char text[80];
    const int size = std::snprintf(
        text, sizeof text, "HTTP/1.1 200 OK\r\nDate: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
        days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900,
        parts.tm_hour, parts.tm_min, parts.tm_sec);
    ok_and_date_.assign(text, static_cast<std::size_t>(size));
  }
  return ok_and_date_;
}

void ServerState::drain(Function<void()> done, Duration most) {
  draining = true;
  drained_ = std::move(done);
  walk([](Connection& connection) { connection.drain(); });
  last_requests_timer_.start(std::min(last_requests, most), [this] {
    walk([](Connection& connection) { connection.close_if_idle(); });
  });
  drain_timer_.start(most, [this] {
    close_all();
    check_drained();
  });
  check_drained();
}

void ServerState::check_drained() noexcept {
  if (connections.empty() && drained_) tell_drained_.signal();
}

void ServerState::close_all() noexcept {
  while (!connections.empty()) connections.front()->close();
}

void ServerState::end() noexcept {
  ended_ = true;
  drained_ = nullptr;
  drain_timer_.cancel();
  last_requests_timer_.cancel();
  close_all();
  ticker_.cancel();
}

}  // namespace godwit::inline v0::http
