// What the connections of one HttpServer share: their list, the time, the end.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/http/http_server.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"

namespace godwit::inline v0::http {

class Connection;

struct ServerState {
  ServerState(Loop& loop_, Handler& handler_, HttpServerOptions options_);
  ~ServerState();
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  /// Connections that are only told that there are too many, at once; further ones are closed.
  static constexpr std::size_t most_refused = 100;

  void accept(Stream stream) noexcept;
  /// One of an address that has its share already.
  void turn_away(Stream stream) noexcept;
  /// Closes a connection that waits for its next request; false if none is found among the few
  /// that are looked at.
  bool make_room();
  /// At the bound on large requests that are being read those that began first give way, so that
  /// nobody can lock others out by sending some slowly.
  void make_room_for_bodies() noexcept;
  /// Takes a connection off the list; it is destroyed later, since it may be on the stack.
  void remove(Connection& connection) noexcept;
  void drain(Function<void()> done, Duration most);
  void close_all() noexcept;
  /// The end of the HttpServer: closes everything and tells nobody that it is drained.
  void end() noexcept;
  /// Keeps this until nothing of it is on the stack: the HttpServer may be destroyed by what one of
  /// its connections calls, and those are still here then (gone_).
  void keep(std::shared_ptr<ServerState> self) noexcept { last_.signal(std::move(self)); }
  /// The time to within a few milliseconds, which is enough for seconds.
  TimePoint now() const noexcept { return clock->coarse(); }
  /// "HTTP/1.1 200 OK\r\nDate: …\r\n", made once a second.
  std::string_view ok_and_date();
  /// "Date: …\r\n".
  std::string_view date() {
    const std::string_view both = ok_and_date();
    return both.substr(both.find('\n') + 1);
  }

  Loop& loop;
  Handler& handler;
  HttpServerOptions options;
  const Clock* clock = &steady_clock();
  std::list<Connection*> large;  // those that read a large request; the one that began first leads
  std::list<std::unique_ptr<Connection>> connections;
  bool draining = false;

 private:
  /// Calls `each` for every connection that there is now. It may remove any of them.
  template <class F>
  void walk(F&& each);
  Connection* add(Stream stream) noexcept;
  void refuse(Stream stream, std::string_view why) noexcept;
  void tick();
  void start_ticking();
  void check_drained() noexcept;

  /// A walk over the connections that is on the stack.
  struct Walk {
    std::list<std::unique_ptr<Connection>>::iterator next;
    Walk* outer;
  };
  Walk* walks_ = nullptr;
  /// Until nothing of them is on the stack. Destroyed later, and not at once and watched, because a
  /// handler that ends its connection is using a Request then, which is views into it.
  std::list<std::unique_ptr<Connection>> gone_;
  Wakeup sweep_;
  Timer ticker_;
  Duration tick_;
  bool ticking_ = false;
  std::size_t refused_ = 0;  // of the connections
  std::string ok_and_date_;
  std::int64_t date_second_ = -1;
  Timer drain_timer_;
  Timer last_requests_timer_;
  Wakeup tell_drained_;
  Function<void()> drained_;
  bool ended_ = false;  // no connection is taken any more
  Wakeup last_;
};

}  // namespace godwit::inline v0::http
