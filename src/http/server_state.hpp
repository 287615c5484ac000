// What the connections of one HttpServer share: their list, the time, the end.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/http/http_server.hpp"
#include "godwit/io/timer.hpp"

namespace godwit::inline v0::http {

class Connection;

struct ServerState {
  ServerState(Loop& loop_, Handler& handler_, HttpServerOptions options_);
  ~ServerState();
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  /// Connections that are only told that there are too many, at once; further ones are closed.
  static constexpr std::size_t most_refused = 100;

  void accept(Stream stream);
  /// One of an address that has its share already.
  void turn_away(Stream stream);
  /// Takes a connection off the list; it is destroyed later, since it may be on the stack.
  void remove(Connection& connection);
  void drain(Function<void()> done, Duration most);
  void close_all();
  /// The time to within a few milliseconds, which is enough for seconds.
  TimePoint now() const noexcept { return clock->coarse(); }
  /// "Date: …\r\n", made once a second.
  std::string_view date_line();

  Loop& loop;
  Handler& handler;
  HttpServerOptions options;
  const Clock* clock = &steady_clock();
  std::list<std::unique_ptr<Connection>> connections;
  bool draining = false;

 private:
  Connection& add(Stream stream);
  void refuse(Stream stream, std::string_view why);
  void tick();
  void start_ticking();
  void check_drained();

  Timer ticker_;
  Duration tick_;
  bool ticking_ = false;
  std::size_t refused_ = 0;  // of the connections
  std::string date_line_;
  std::int64_t date_second_ = -1;
  Timer drain_timer_;
  Timer last_requests_timer_;
  Function<void()> drained_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace godwit::inline v0::http
