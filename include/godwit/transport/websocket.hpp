// WebSocketTransport: messages over a WebSocket (RFC 6455), one JSON-RPC message per text message:
// the server's side by accept(), from the handler of an HttpServer; the client's by
// connect_websocket().
//
// Owner: whoever speaks the protocol. It may be destroyed at any time, also inside a callback of
// its Receiver; then nothing more is called and what was not written yet is lost. Threads: the one
// that drives the loop.
//
// Output gathers while a burst of input is being delivered and leaves with one write. A peer that
// does not read slows itself down: above Limits::output_queue_bytes nothing more is read from it,
// and past four times as much, or when it takes nothing for Limits::write_stall, the connection is
// closed. One that breaks the rules is told so in the
// closing frame: 1002 for frames that are none, 1003 for binary data, 1007 for text that is not
// UTF-8 (and to a server also for text that is no JSON), 1008 for too many fragments or control
// frames, 1009 for a message over Limits::message_bytes_in. Silence is broken by a ping after
// Limits::ws_ping_time; after as much time without a byte the connection is over.
//
// close() waits for the other side's goodbye, at most Limits::ws_close_time, before on_close()
// comes. Nothing that is said after either side's goodbye is sent: a WebSocket has no half that
// stays open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/lifetime.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/proxies.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/output_buffer.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "godwit/rpc/transport.hpp"
#include "godwit/transport/input_room.hpp"
#include "godwit/transport/websocket_decoder.hpp"

namespace godwit::inline v0 {

struct WebSocketOptions {
  /// Subprotocols: what a server speaks, and what a client offers; the best first. A server takes
  /// the first one that the client offers, or none. Plain JSON-RPC has no agreed name.
  std::vector<std::string> protocols{"mcp"};
  Limits limits{};
  /// Must outlive the transport.
  const Clock* clock = &steady_clock();
  /// Where what has come of unfinished messages is counted together with that of others.
  std::shared_ptr<InputRoom> room{};
};

class GODWIT_API WebSocketTransport final : public rpc::Transport,
                                            private Stream::Handler,
                                            private InputRoom::Guest {
 public:
  /// How to refuse a request that is no proper WebSocket handshake (RFC 6455 4.2.1); nothing if it
  /// is one. Who may call is another question (http::Access).
  static std::optional<http::Response> refusal(const http::Request& request);

  /// Takes the stream over and answers the handshake on it. `rest` is what came behind the request
  /// already. For http::Handler::on_upgrade(), after refusal().
  static Result<std::unique_ptr<WebSocketTransport>> accept(Loop& loop, Stream stream,
                                                            const http::Request& request,
                                                            std::string_view rest,
                                                            const WebSocketOptions& options = {});

  /// Over a stream whose handshake somebody else has done.
  WebSocketTransport(Loop& loop, Stream stream, WebSocketSide side, std::string_view rest = {},
                     const WebSocketOptions& options = {}, std::string protocol = {});
  ~WebSocketTransport() override;
  WebSocketTransport(const WebSocketTransport&) = delete;
  WebSocketTransport& operator=(const WebSocketTransport&) = delete;

  /// With the header fields of the handshake, on the side of the server.
  std::shared_ptr<const rpc::Facts> facts() const override;
  void start(rpc::Receiver& receiver) override;
  std::string& output() override { return out_.text(); }
  void finish(const rpc::Outbound& message) override;
  void flush() override;
  /// A client closes with 1007: the text may have been the answer that somebody waits for.
  bool refuse(const Error& why) override;
  void close() override;
  void when_flushed(Function<void()> done) override;

  /// The subprotocol that was agreed on; empty if none was.
  const std::string& protocol() const noexcept { return protocol_; }
  /// Who is at the other end: "127.0.0.1:4711".
  std::string peer() const { return stream_.peer(); }
  /// Bytes that the peer has not taken yet.
  std::size_t unsent() const noexcept { return out_.unsent(); }

 private:
  enum class Phase : std::uint8_t {
    idle,     // not started
    open,     // both ways
    ended,    // the input ended without a goodbye; what waits is being written
    closing,  // one side has said goodbye
    closed,   // on_close() was called
  };

  std::span<char> on_space() override;
  void on_data(std::size_t size) override;
  void on_end(const Result<void>& how) override;
  void on_writable() override;

  void pump();
  void handle(WebSocketDecoder::Event event);
  bool too_many_control_frames();
  void count_input() noexcept;
  void give_way() noexcept override;
  void send_control(WebSocketOpcode opcode, std::string_view payload);
  void say_close(std::uint16_t code, std::string_view words);
  std::optional<std::uint32_t> mask() const;
  void frame(std::size_t begin, WebSocketOpcode opcode);
  void write_out();
  void write_soon(std::size_t waiting);
  void watch_stall();
  void check_stall();
  void drop_output() noexcept;
  void broken(Error reason);
  void start_closing(Error reason, std::uint16_t code, std::string_view words);
  void break_off(Error reason);
  void watch_silence(Duration wait);
  void check_silence();
  bool over() const noexcept;
  void settle() noexcept;
  void after_settling();
  void ended(const Result<void>& how);
  void written();
  /// Runs something of this transport from the loop. What it throws, which is the end of memory,
  /// ends the connection and nothing else.
  template <class F>
  void survive(F&& run) noexcept;

  Limits limits_;
  const Clock* clock_;
  std::shared_ptr<InputRoom> room_;
  WebSocketDecoder decoder_;
  Stream stream_;
  Timer silence_;
  Timer patience_;  // with a peer that should say goodbye, or take the last bytes
  std::string protocol_;
  std::shared_ptr<const rpc::Facts> handshake_;
  rpc::Receiver* receiver_ = nullptr;

  OutputBuffer out_;
  std::string control_;  // control frames that wait for the end of a message
  TimePoint heard_{};    // when the last byte came
  TimePoint window_{};   // begin of the second in which control frames are counted
  std::size_t control_frames_ = 0;
  WebSocketSide side_;
  Phase phase_ = Phase::idle;
  bool paused_ = false;        // the peer does not read fast enough
  bool blocked_ = false;       // on_writable is awaited
  bool write_failed_ = false;  // nothing can be written any more
  bool end_seen_ = false;      // the input ended, perhaps while messages are held back
  bool close_sent_ = false;
  bool close_received_ = false;
  bool failed_ = false;  // the peer broke the rules: what it says is not listened to
  bool shut_ = false;
  bool pinged_ = false;  // since the last byte
  Error reason_;
  Function<void()> when_flushed_;
  Wakeup settled_;
  Wakeup held_back_;         // messages that were held back
  bool discarding_ = false;  // what is being read is thrown away
  bool in_burst_ = false;    // input is being delivered
  Lifetime lifetime_;
};

struct WebSocketConnectOptions {
  WebSocketOptions websocket{};
  /// More fields of the handshake, such as Authorization.
  http::Fields fields{};
  /// Asked for more of them before each handshake, and what to do after a 401 or 403. Its fields
  /// take the place of those in `fields`.
  std::shared_ptr<http::RequestAuthorizer> authorizer{};
  /// The connection itself; then the handshake may take Limits::ws_handshake_time. For wss without
  /// `tls` the authorities that the system trusts are asked.
  ConnectOptions connect{};
  /// As in http::HttpClientOptions: through which proxy, which must let CONNECT through.
  bool proxy_from_environment = true;
  std::optional<http::Proxies> proxies{};
};

/// An attempt to connect. Destroying it gives up.
class GODWIT_API WebSocketConnector {
 public:
  using OnConnected = Function<void(Result<std::unique_ptr<rpc::Transport>>)>;

  ~WebSocketConnector();
  WebSocketConnector(WebSocketConnector&&) noexcept;
  WebSocketConnector& operator=(WebSocketConnector&&) noexcept;

 private:
  friend GODWIT_API WebSocketConnector connect_websocket(Loop& loop, const http::Url& url,
                                                         OnConnected done,
                                                         const WebSocketConnectOptions& options);
  struct State;
  explicit WebSocketConnector(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

/// Calls `done` once, from the loop, never inside this call. The URL is ws, wss, http or https.
GODWIT_API WebSocketConnector connect_websocket(Loop& loop, const http::Url& url,
                                                WebSocketConnector::OnConnected done,
                                                const WebSocketConnectOptions& options = {});

}  // namespace godwit::inline v0
