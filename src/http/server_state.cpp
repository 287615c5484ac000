#include "server_state.hpp"

#include <algorithm>
#include <ctime>

#include "connection.hpp"

namespace godwit::inline v0::http {

namespace {

/// How long the server waits for requests that were sent before the clients could know that it
/// goes. Closing with one unread would reset the connection.
constexpr Duration last_requests = std::chrono::milliseconds(50);

/// Time-outs of seconds need no finer clock than a quarter of the shortest, and one walk over all
/// connections a second costs less than a timer of the system for each.
Duration tick_of(const Limits& limits) {
  const Duration shortest =
      std::min({limits.http_header_time, limits.http_body_idle, limits.http_request_time,
                limits.http_keep_alive, limits.http_write_stall});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

}  // namespace

ServerState::ServerState(Loop& loop_, Handler& handler_, HttpServerOptions options_)
    : loop(loop_),
      handler(handler_),
      options(std::move(options_)),
      ticker_(loop_),
      tick_(tick_of(options.limits)),
      drain_timer_(loop_),
      last_requests_timer_(loop_) {}

ServerState::~ServerState() { *alive_ = false; }

void ServerState::accept(Stream stream) {
  const bool full = connections.size() - refused_ >= options.limits.connections;
  if (!full && !draining) return add(std::move(stream)).start();
  refuse(std::move(stream), "the server has too many connections; try again later");
}

void ServerState::turn_away(Stream stream) {
  refuse(std::move(stream), "your address has too many connections; try again later");
}

void ServerState::refuse(Stream stream, std::string_view why) {
  if (refused_ >= most_refused) return;
  ++refused_;
  add(std::move(stream)).refuse(503, why);
}

Connection& ServerState::add(Stream stream) {
  connections.push_back(std::make_unique<Connection>(*this, std::move(stream)));
  Connection& connection = *connections.back();
  connection.place = std::prev(connections.end());
  start_ticking();
  return connection;
}

void ServerState::remove(Connection& connection) {
  if (connection.refused) --refused_;
  std::list<std::unique_ptr<Connection>> gone;
  gone.splice(gone.end(), connections, connection.place);
  loop.post([gone = std::make_shared<std::list<std::unique_ptr<Connection>>>(std::move(gone))] {
    gone->clear();
  });
  if (draining) check_drained();
}

void ServerState::start_ticking() {
  if (std::exchange(ticking_, true)) return;
  ticker_.start(tick_, [this] { tick(); });
}

void ServerState::tick() {
  const TimePoint time = clock->now();
  for (auto at = connections.begin(); at != connections.end();) {
    Connection& connection = **at;
    ++at;  // it may remove itself
    connection.tick(time);
  }
  ticking_ = false;
  if (!connections.empty()) start_ticking();
}

std::string_view ServerState::date_line() {
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
    char text[64];
    const int size =
        std::snprintf(text, sizeof text, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n",
                      days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon],
                      parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
    date_line_.assign(text, static_cast<std::size_t>(size));
  }
  return date_line_;
}

void ServerState::drain(Function<void()> done, Duration most) {
  draining = true;
  drained_ = std::move(done);
  for (const auto& connection : connections) connection->drain();
  last_requests_timer_.start(std::min(last_requests, most), [this] {
    for (auto at = connections.begin(); at != connections.end();) {
      Connection& connection = **at;
      ++at;  // it may remove itself
      connection.close_if_idle();
    }
  });
  drain_timer_.start(most, [this] {
    close_all();
    check_drained();
  });
  check_drained();
}

void ServerState::check_drained() {
  if (!connections.empty() || !drained_) return;
  loop.post([this, alive = alive_] {
    if (!*alive || !drained_) return;
    drain_timer_.cancel();
    std::exchange(drained_, nullptr)();
  });
}

void ServerState::close_all() {
  while (!connections.empty()) connections.front()->close();
}

}  // namespace godwit::inline v0::http
