// Conversation: a peer of the Endpoint and the way its messages go out over HTTP. Two kinds: a Lane
// carries one stateless request, an HttpSession all requests of a stateful client.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "endpoint_impl.hpp"
#include "godwit/rpc/peer.hpp"

namespace godwit::inline v0::detail {

class Conversation : public rpc::Output {
 public:
  explicit Conversation(Endpoint::Impl& endpoint);
  ~Conversation() override;

  rpc::Peer& peer() noexcept { return *peer_; }
  /// Things that wait for a time: calls and timers of the peer, and its own.
  void expire(TimePoint now);
  /// Looks again when expire() is needed next.
  void rearm();
  /// After the peer has processed its mail.
  virtual void processed() {}

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
  virtual std::optional<TimePoint> own_deadline() const = 0;
  virtual void own_expire(TimePoint now) = 0;

  Endpoint::Impl& endpoint_;

 private:
  std::uint64_t number_;
  std::optional<TimePoint> armed_;
  std::unique_ptr<rpc::Peer> peer_;
};

}  // namespace godwit::inline v0::detail
