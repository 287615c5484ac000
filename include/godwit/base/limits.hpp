// Limits: every bound the library puts on what a peer may cost, in one place, each with its reason.
// Memory is bounded by this struct, not by the peer.
#pragma once

#include <chrono>
#include <cstddef>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct Limits {
  /// One message from the peer. Large enough for an embedded image, small enough to hold many at
  /// once.
  std::size_t message_bytes_in = 4u << 20;
  /// One message to the peer; a larger answer becomes an internal error "response too large".
  std::size_t message_bytes_out = 16u << 20;

  /// Nested arrays and objects. Deeper text is never written by people or tools, only by attackers.
  std::size_t json_depth = 128;
  std::size_t json_members = 10'000;
  std::size_t json_items = 1'000'000;
  std::size_t json_key_bytes = 8u << 10;
  /// 1,100 characters hold every finite double written out in full (at most 1,077 significant
  /// places).
  std::size_t json_number_chars = 1'100;

  /// A name, a title or a version by which a peer introduces itself: each of them.
  std::size_t name_bytes = 1u << 10;
  /// A URI of the peer. What is longer names nothing here, and is not repeated in an error.
  std::size_t uri_bytes = 8u << 10;

  /// Entries of a batch; each also counts as a request in flight.
  std::size_t batch_entries = 100;
  /// Requests of the peer that are not answered yet; one more is refused as "busy".
  std::size_t in_flight = 128;
  /// Bytes of their params, which are kept until they are answered: four of the largest messages.
  /// One that would go beyond is refused as "busy", unless it is the only one.
  std::size_t in_flight_bytes = 16u << 20;
  /// Own calls waiting for an answer; one more fails at once.
  std::size_t pending_calls = 10'000;
  /// Own calls that set no timeout of their own.
  Duration call_timeout = std::chrono::seconds(60);

  /// Bytes waiting to be written to a slow peer. Reading from it pauses above this bound and
  /// resumes at half of it; a peer that lets its own answers pile up past four times the bound is
  /// closed. What handlers on other threads tell may pile up as much on its way to the connection's
  /// thread; then they wait for it.
  std::size_t output_queue_bytes = 1u << 20;
  /// How long those handlers wait. Not for ever, because the connection's thread may be waiting for
  /// one of them; afterwards nobody waits until something was taken.
  Duration output_wait = std::chrono::seconds(1);
  /// An over-long line is thrown away up to this much before the connection is given up.
  std::size_t discard_bytes = 64u << 20;
  /// A peer that takes none of what is waiting for it.
  Duration write_stall = std::chrono::seconds(30);
  /// Connections a listener keeps open at once. At the bound a quiet connection gives way to a new
  /// one, first of all one that never said anything.
  std::size_t connections = 10'000;
  /// Connections of one address; loopback addresses are exempt.
  std::size_t connections_per_address = 256;
  /// From the connection to the end of the first message, where no HTTP says how long. Later
  /// silence is the peer's right.
  Duration first_message_time = std::chrono::seconds(30);

  // TLS.

  /// From the first byte to the end of the handshake. It costs a peer nothing to open a connection
  /// and say nothing.
  Duration tls_handshake_time = std::chrono::seconds(10);
  /// Bytes of the peer in one handshake: more than the longest chain of certificates in use.
  std::size_t tls_handshake_bytes = 256u << 10;

  // HTTP.

  /// A request line or status line, one header line, all header lines together, and their number.
  std::size_t http_line_bytes = 8u << 10;
  std::size_t http_header_bytes = 32u << 10;
  std::size_t http_headers = 100;
  /// Trailer lines of a chunked body together.
  std::size_t http_trailer_bytes = 8u << 10;
  /// From the first byte of a request to the end of its head; between two pieces of its body; for
  /// the whole request. Slower peers are answered 408 and closed.
  Duration http_header_time = std::chrono::seconds(10);
  Duration http_body_idle = std::chrono::seconds(30);
  Duration http_request_time = std::chrono::seconds(300);
  /// From the end of a request's head until it is decided whether it is let in (http::Admission),
  /// which may need an answer from elsewhere; then it is answered with 503. Longer than a fetch of
  /// keys should take, shorter than clients wait.
  Duration admission_time = std::chrono::seconds(10);
  /// A connection on which no request is under way.
  Duration http_keep_alive = std::chrono::seconds(75);
  /// Bodies of requests that have not ended yet, in the whole process; beyond that those that began
  /// first are refused with 503. So much again for unfinished messages over sockets (InputRoom).
  std::size_t process_body_bytes = 256u << 20;
  /// Answers with a status of 1xx before the one that counts.
  std::size_t http_interim_answers = 16;
  /// Redirects that are followed for one request.
  std::size_t http_redirects = 3;
  /// Times that one request is sent again after a 401 or 403 because its authorizer wants that. A
  /// nonce, a token that another request got meanwhile, a refresh and three logins are six.
  std::size_t authorization_retries = 8;
  /// For one answer of an authorizer. A person may take minutes to log in; one who went away must
  /// not keep a request for ever.
  Duration authorization_time = std::chrono::minutes(10);
  /// What an authorizer sees of the body of a 401 or 403. What such a body says is short.
  std::size_t refusal_body_bytes = 16u << 10;
  /// One event of an event stream that is read. Answers of servers are larger than requests.
  std::size_t sse_event_bytes = 16u << 20;
  /// Silence on an event stream before a comment is sent, so that no proxy takes it for dead.
  Duration sse_keep_alive = std::chrono::seconds(15);
  /// Comments on an event stream that is read, in one second: one every few seconds is usual.
  std::size_t sse_comment_bytes = 64u << 10;
  /// An identifier of an event that is read. It is sent back in a header field; an event with a
  /// longer one cannot be resumed after.
  std::size_t sse_id_bytes = 1u << 10;
  /// The pause before a stream is asked for again, whatever the server wishes.
  Duration sse_retry_least = std::chrono::milliseconds(100);
  Duration sse_retry_most = std::chrono::seconds(60);

  // WebSocket.

  /// Pieces one message may come in: each costs time although it may be empty.
  std::size_t ws_fragments = 1'024;
  /// Pings and the like in one second: each ping has to be answered.
  std::size_t ws_control_frames = 50;
  /// For the handshake after the connection is made.
  Duration ws_handshake_time = std::chrono::seconds(5);
  /// For the other side to say goodbye, too.
  Duration ws_close_time = std::chrono::seconds(1);
  /// Silence before a ping is sent; after as much silence again the connection is closed.
  Duration ws_ping_time = std::chrono::seconds(30);

  // Sessions of stateful clients over HTTP.

  /// At the bound the least recently used idle session of the address that has most gives way.
  std::size_t sessions = 100'000;
  /// Sessions of one address; at the bound its own least recently used idle one gives way.
  std::size_t sessions_per_address = 10'000;
  Duration session_idle = std::chrono::minutes(30);
  /// For a first message after the handshake. It costs a client nothing to begin a session and
  /// forget it.
  Duration session_first_message_time = std::chrono::seconds(30);
  /// Bytes kept for one session between its messages (who the client is, what it can do, what it
  /// subscribed to), and for all sessions of the process.
  std::size_t session_bytes = 256u << 10;
  std::size_t process_session_bytes = 256u << 20;
  /// Answered streams of one session that are kept for a client that lost its connection; the
  /// oldest goes. Those that are open are requests in flight.
  std::size_t session_streams = 64;
  /// Streams of one session that are sent again at once.
  std::size_t session_resumptions = 16;
  /// What is kept for a client that comes back to a stream: per stream, and in the process.
  std::size_t stream_events = 1'000;
  std::size_t stream_bytes = 8u << 20;
  Duration stream_time = std::chrono::minutes(5);
  std::size_t event_store_bytes = 1u << 30;
  /// What waits in one stream, or in one session, until a store has kept what it depends on. What
  /// waits already decides, not what comes next. Beyond it a stream goes on without ids, and what a
  /// session would have said is an error.
  std::size_t unkept_bytes = 1u << 20;
  /// For an answer of a store (EventStore, SessionStore) that somebody waits for; then it counts as
  /// failed. Longer than a store that is well ever takes, shorter than clients wait.
  Duration store_time = std::chrono::seconds(10);
  /// Events that were read from a store, which does not hold them itself, and that wait for clients
  /// who came back: of one endpoint. Beyond it the connection is closed, and may come back.
  std::size_t resumption_bytes = 64u << 20;
  /// States of sessions in a MemorySessionStore; there are no more than `sessions` of them. The one
  /// saved longest ago, which no server has, goes.
  std::size_t session_store_bytes = 256u << 20;
  /// Requests in flight in the whole process.
  std::size_t process_in_flight = 10'000;
  /// The same for in_flight_bytes, over all connections of a server.
  std::size_t process_in_flight_bytes = 256u << 20;

  // Lists that a client gathers over pages.

  std::size_t list_entries = 100'000;
  std::size_t list_bytes = 64u << 20;

  /// The last bytes of a child's stderr that are kept to explain its death.
  std::size_t child_stderr_tail = 64u << 10;
  /// After the input ended: how long handlers may take to finish before the program ends.
  Duration eof_grace = std::chrono::seconds(1);

  bool operator==(const Limits&) const = default;
};

}  // namespace godwit::inline v0
