// Tap: sees every message that a peer sends or receives, with what it is, and changes nothing: for
// inspectors, recordings and logs of the traffic. It costs nothing where there is none.
//
//   options.tap = [](const rpc::TappedMessage& message) {
//     std::cerr << (message.incoming ? "<- " : "-> ") << message.text << '\n';
//   };
//
// Threads: that of the peer; a program whose peers have several threads is called on all of them.
#pragma once

#include <functional>
#include <string_view>

#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::rpc {

/// Valid only during the call.
struct TappedMessage {
  bool incoming = false;
  MessageKind kind = MessageKind::unknown;
  /// The whole message, as it travels, without framing.
  std::string_view text{};
  /// Of a request or notification.
  std::string_view method{};
  /// Of a request, or of the request that is answered: as JSON. Empty if there is none.
  std::string_view id{};
  /// An answer that says an error.
  bool failed = false;
  /// The way it came or goes, where the carrier has several.
  Route route = 0;
};

/// May do anything, also close or destroy the peer: what was about to be sent or handled is dropped
/// then. What it throws goes to the log.
using Tap = std::function<void(const TappedMessage&)>;

}  // namespace godwit::inline v0::rpc
