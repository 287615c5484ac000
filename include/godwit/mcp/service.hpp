// Service: what is served to clients of MCP, as those who carry messages see it: HTTP endpoints,
// WebSockets, pipes. It works on messages, not on tools. A Server, which has tools, is one; a
// gateway that only passes messages on is another.
//
// A service is a router and options for the Peer of each client, and a Session that goes with each
// Peer. Whoever writes one makes both in peer_options():
//
//   rpc::PeerOptions Gateway::peer_options(PeerFacts facts) const {
//     rpc::PeerOptions options;
//     options.attach = attaching([…](rpc::Peer& peer) { return std::make_shared<MySession>(…); });
//     return options;
//   }
//
// Owner: the program; it outlives what serves it. Threads: any, also several at once; a Session
// belongs to the thread of its Peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/mcp/sealer.hpp"
#include "godwit/rpc/context.hpp"
#include "godwit/rpc/identity.hpp"
#include "godwit/rpc/peer.hpp"
#include "godwit/rpc/router.hpp"

namespace godwit::inline v0 {

/// What the program knows about the other side of a connection.
struct PeerFacts {
  /// Who it is, verified; null if unknown.
  std::shared_ptr<const rpc::Identity> identity{};
  /// Anything of the program's; handlers get it by Context::user().
  std::shared_ptr<void> user{};
};

class GODWIT_API Service {
 public:
  /// The conversation with one client. It lives as long as its Peer, or as what is left of it.
  class GODWIT_API Session {
   public:
    Session() = default;
    virtual ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Said before the first message by a carrier that brings requests that stand alone, and
    /// nothing else, with header fields that must agree with them.
    virtual void set_stateless() = 0;
    /// Whether a handshake succeeded: from then on the client has a session.
    virtual bool established() const noexcept = 0;
    /// Whether the client can come back to a stream that was interrupted before anything was said
    /// on it: it understands an event that has nothing but an id.
    virtual bool resumes_streams() const noexcept = 0;
    /// Bytes that are kept of the client's words between messages.
    virtual std::size_t kept_bytes() const noexcept { return 0; }
    /// Whether there is a method of this name beside those of the protocol. What nobody has is not
    /// counted by its name, or clients could invent names without end.
    virtual bool has_method(std::string_view) { return false; }

    // For stores. A service whose sessions cannot be saved needs none of these.

    /// Counts the changes of what is worth saving. A carrier that saves sessions does so when this
    /// has moved, and tells nobody what changed it before that is done.
    virtual std::uint64_t changes() const noexcept { return 0; }
    /// What is worth saving, as a JSON object.
    virtual Result<std::string> save() const;
    /// The routes of the requests that are part of that and go on where it is restored: a carrier
    /// that can do so has their messages go the same ways there.
    virtual std::vector<rpc::Route> saved_routes() const;
    /// Makes a session that has just begun the one that save() was called of. An error, and nothing
    /// has changed, if the text is none that this service has written.
    virtual Result<void> restore(std::string_view state);
  };

  virtual ~Service();

  /// What handles the messages of all clients.
  virtual std::shared_ptr<const rpc::Router> router() const = 0;
  /// For the Peer of one client. `attach` is made by attaching().
  virtual rpc::PeerOptions peer_options(PeerFacts facts = {}) const = 0;
  /// Why requests that stand alone cannot be served. Asked before they are.
  virtual Result<void> check_stateless() const { return {}; }
  /// Gives it a sealer if it needs one and has none.
  virtual void set_default_sealer(std::shared_ptr<Sealer>) {}
  /// What is kept of the words of all clients between their messages
  /// (Limits::process_session_bytes).
  virtual std::size_t session_bytes() const noexcept { return 0; }

  /// The session of a Peer that was made with peer_options(), and of a call that came by such a
  /// Peer; null if it came by one that has nothing attached.
  static Session& session_of(const rpc::Peer& peer) noexcept;
  static Session* session_of(const rpc::Context& call) noexcept;

 protected:
  Service() = default;
  Service(const Service&) = default;
  Service& operator=(const Service&) = default;

  /// PeerOptions::attach from a function that makes the session of a Peer.
  static std::function<std::shared_ptr<void>(rpc::Peer&)> attaching(
      std::function<std::shared_ptr<Session>(rpc::Peer&)> make);
};

}  // namespace godwit::inline v0
