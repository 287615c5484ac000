// WebSocketDecoder: finds messages and control frames (RFC 6455) in a stream of bytes; and how a
// frame is written. No input or output here: bytes go in as they arrive, in pieces of any size.
//
// Strict: what RFC 6455 does not allow ends the connection with the code that the RFC has for it.
// Only text is taken, and no extension is known, so also no compression.
//
// Owns one buffer that is reused; messages are views into it. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"

namespace godwit::inline v0 {

/// Which end of a WebSocket: clients mask what they send, servers must not.
enum class WebSocketSide : std::uint8_t { server, client };

enum class WebSocketOpcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

/// Why a WebSocket is closed (RFC 6455 7.4).
namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
/// Never sent: a close frame without a code.
inline constexpr std::uint16_t none = 1005;
inline constexpr std::uint16_t invalid_text = 1007;
inline constexpr std::uint16_t policy = 1008;
inline constexpr std::uint16_t too_big = 1009;
inline constexpr std::uint16_t try_again_later = 1013;
}  // namespace close_code

class GODWIT_API WebSocketDecoder {
 public:
  enum class Event : std::uint8_t {
    /// More bytes are needed.
    none,
    /// message() is one whole text message.
    message,
    /// payload() is what came with it.
    ping,
    pong,
    /// The other side says goodbye: code() and payload(), its words. Nothing is read after it.
    close,
    /// The other side broke the rules. To be closed with code() and payload(), a sentence. Nothing
    /// is read after it.
    failed,
  };

  /// So many bytes after every message may be read, whatever they hold.
  static constexpr std::size_t padding = 64;

  /// `side` is the one that reads. Of the limits: message_bytes_in and ws_fragments.
  explicit WebSocketDecoder(WebSocketSide side, const Limits& limits = {});

  /// Where to put the next bytes; never empty. Ends the life of views handed out before.
  std::span<char> prepare();
  /// So many bytes were put there.
  void commit(std::size_t size) noexcept;
  /// What comes next in the bytes so far. To be called until it gives none, close or failed.
  Event next();

  /// Valid until the next prepare() or next().
  std::string_view message() const noexcept { return view_; }
  /// Readable bytes behind the message, at least `padding`.
  std::size_t spare() const noexcept;
  std::string_view payload() const noexcept { return view_; }
  std::uint16_t code() const noexcept { return code_; }

  /// Whether a message or frame has begun and is not complete.
  bool partial() const noexcept;
  /// Bytes of memory held.
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  enum class State : std::uint8_t { head, data, control, over };

  /// What has been checked of a text that comes in pieces.
  struct Utf8 {
    bool feed(const char* at, std::size_t size) noexcept;
    bool complete() const noexcept { return need == 0; }
    std::uint8_t need = 0, low = 0x80, high = 0xbf;
  };

  bool read_head(Event& event);
  bool read_data(Event& event);
  bool read_control(Event& event);
  Event read_close(std::string_view payload);
  Event fail(std::uint16_t code, std::string_view why);
  void unmask(char* at, std::size_t size) noexcept;
  std::size_t begin() const noexcept { return fragments_ > 0 ? text_ : at_; }
  void resize(std::size_t capacity);
  void move_to_front() noexcept;

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t text_ = 0;  // where the message that is being gathered begins,
  std::size_t size_ = 0;  // and how much of it there is, without frames and masks
  std::size_t at_ = 0;    // the first byte that was not looked at
  std::size_t end_ = 0;
  std::size_t most_;
  std::size_t most_fragments_;
  std::size_t fragments_ = 0;  // of the message that is being gathered
  std::uint64_t left_ = 0;     // of the payload of this frame
  std::array<std::uint8_t, 4> mask_{};
  std::size_t masked_ = 0;  // bytes of this frame that were unmasked
  std::string_view view_;
  std::uint16_t code_ = 0;
  WebSocketSide side_;
  State state_ = State::head;
  WebSocketOpcode opcode_{};  // of the control frame
  bool final_ = false;        // the frame ends its message
  bool filled_ = false;
  Utf8 utf8_;
};

/// Makes a whole frame of what was appended to `out` since `begin`. A client gives a mask, which
/// nobody may guess.
GODWIT_API void finish_websocket_frame(std::string& out, std::size_t begin, WebSocketOpcode opcode,
                                       std::optional<std::uint32_t> mask = {});

}  // namespace godwit::inline v0
