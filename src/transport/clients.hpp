// Clients: the connections of one listener of an RpcServer: who has said nothing for too long, and
// who gives way when there are too many.
//
// A client that never said anything gives way first, the oldest of them; a few such places are
// spared, so that a flood of silent connections cannot push out a newcomer before it speaks. Then
// the one that has been quiet for longest, unless a request of its is being answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "godwit/base/clock.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/lifetime.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/transport/connection.hpp"

namespace godwit::inline v0::detail::transport {

class Clients {
 public:
  /// `gone` is called, from the loop, after a client has left. The clock must outlive this.
  Clients(Loop& loop, const Limits& limits, const Clock& clock, Function<void()> gone);
  ~Clients();
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// Joins a peer with its transport. Without `timed` it may be silent for as long as it likes, and
  /// counts as heard when it is added and never again.
  Connection& add(std::unique_ptr<rpc::Transport> transport,
                  std::shared_ptr<const rpc::Router> router, rpc::PeerOptions options, bool timed);
  /// Breaks one off; false if all of them are busy. The cost does not grow with their number.
  bool make_room();
  void close_all();
  std::size_t size() const noexcept { return silent_.size() + heard_.size() + leaving_.size(); }

 private:
  enum class State : std::uint8_t { silent, heard, leaving };
  struct Client {
    Connection connection;
    TimePoint since;
    State state = State::silent;
  };
  using List = std::list<Client>;

  List& list_of(State state) noexcept;
  void move(List::iterator client, State to) noexcept;
  void close(List::iterator client);
  void watch();
  void close_late();

  Loop& loop_;
  Limits limits_;
  const Clock& clock_;
  Function<void()> gone_;
  Timer timer_;
  List silent_;   // by age
  List heard_;    // the one that was quiet for longest first
  List leaving_;  // on their way out
  Lifetime lifetime_;
};

}  // namespace godwit::inline v0::detail::transport
