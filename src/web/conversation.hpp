// Conversation: a peer of the Endpoint and the way its messages go out over HTTP. Three kinds: a
// Lane carries one stateless request, an HttpSession all requests of a stateful client, an
// SseSession those of a client of the oldest revision.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "endpoint_impl.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::detail::web {

class Conversation : public rpc::Output {
 public:
  explicit Conversation(Endpoint::Impl& endpoint);
  ~Conversation() override;

  rpc::Peer& peer() noexcept { return *peer_; }
  const rpc::Peer& peer() const noexcept { return *peer_; }
  /// Things that wait for a time: calls and timers of the peer, and its own.
  void expire(TimePoint now);
  /// Looks again when expire() is needed next.
  void rearm();
  /// For those on other threads who have mail for it.
  const std::shared_ptr<ReadyPlace>& ready_place() const noexcept { return ready_; }
  /// No more requests are to come: those under way are told, and answered.
  virtual void drain() = 0;
  /// After the peer has processed its mail.
  virtual void processed() {}
  /// Memory ran out in the middle of it: ends it, which needs none.
  virtual void fail() noexcept = 0;
  /// It was given to Endpoint::Impl::end(), and nothing of it is on the stack any more: destroys
  /// it, or keeps it for the next request.
  virtual void put_away() noexcept = 0;

  // Output
  std::string& output() override { return endpoint_.buffer; }
  void flush() override {}

 protected:
  /// The last thing a derived destructor may rely on its own parts for.
  void close() noexcept { peer_.reset(); }
  /// What was written since `begin`, which the caller cuts off again.
  std::string_view written(std::size_t begin) const {
    endpoint_.bytes_out += endpoint_.buffer.size() - begin;
    return std::string_view(endpoint_.buffer).substr(begin);
  }
  /// Leads to processed(), after others had their turn.
  void process_later() noexcept { endpoint_.ready->add(ready_); }
  virtual std::optional<TimePoint> own_deadline() const = 0;
  virtual void own_expire(TimePoint now) = 0;

  Endpoint::Impl& endpoint_;

 private:
  friend struct Endpoint::Impl;

  std::uint64_t number_;
  bool to_put_away_ = false;                  // it is in the endpoint's list of those
  Conversation* next_to_put_away_ = nullptr;  // in that list
  std::shared_ptr<ReadyPlace> ready_;
  std::optional<TimePoint> armed_;
  std::set<std::pair<TimePoint, std::uint64_t>>::node_type spare_;  // for the next deadline
  std::unique_ptr<rpc::Peer> peer_;
};

}  // namespace godwit::inline v0::detail::web
