// MessageReader: what requests and responses have in common. The buffer the bytes are read into,
// the lines of the head, its fields and what they say about the body.
//
// Every limit holds while bytes come in: a line is refused when it is too long, not when it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "godwit/base/limits.hpp"
#include "godwit/http/fields.hpp"
#include "http/refusal.hpp"

namespace godwit::inline v0::http {

class MessageReader {
 public:
  enum class Step : std::uint8_t { more, done, failed };

  static constexpr std::size_t padding = 64;

  /// What the two kinds of messages differ in.
  struct Kind {
    std::string_view start_line{};  // its name in sentences
    int long_start_line = 0;        // the status for one that is too long
    unsigned value_classes = 0;     // what the values of fields may hold
    std::size_t most_body = 0;      // bytes of a body that are kept in the buffer
  };

  /// What the fields say about the message and the connection.
  struct Facts {
    std::optional<std::uint64_t> length{};  // Content-Length
    std::optional<std::size_t> host{};      // which field it is
    std::optional<std::size_t> transfer{};  // which field Transfer-Encoding is
    bool chunked = false;                   // and that it says exactly this
    bool close = false;                     // in Connection
    bool keep_alive = false;                // in Connection
    bool upgrade = false;                   // in Connection
    bool upgrade_to = false;                // there is an Upgrade
    std::optional<std::size_t> expect{};    // which field it is
  };

  MessageReader(const Limits& limits, const Kind& kind);

  // The buffer.

  std::span<char> prepare();
  void commit(std::size_t size) noexcept;
  std::string_view unread() const noexcept { return {buffer_.get() + at_, end_ - at_}; }
  void skip(std::size_t size) noexcept { at_ += size; }
  /// All bytes of the message that is being read, and behind.
  std::string_view message() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }
  /// Forgets what was read: what comes now is another message, or nobody looks at the head again.
  void drop() noexcept;
  /// Forgets everything.
  void clear() noexcept;
  void release() noexcept;
  std::size_t capacity() const noexcept;
  /// Readable bytes from here to the end of the memory.
  std::size_t readable_from(const char* at) const noexcept;

  // The head.

  /// Reads the first line; it is start_line() then.
  Step read_start_line();
  /// Reads all fields up to the empty line, and decides what they say.
  Step read_fields();
  std::string_view start_line() const noexcept { return start_line_; }
  const std::vector<Field>& fields() const noexcept { return fields_; }
  const Facts& facts() const noexcept { return facts_; }
  void reset_facts() noexcept { facts_ = {}; }
  /// What is ambiguous about the length of the body, or the coding of it that is not known.
  std::optional<Refusal> framing_mistake(bool http_1_0) const;
  /// After `failed`.
  const Refusal& refusal() const noexcept { return refusal_; }

  // A body that is put together in the buffer, behind the head.

  void begin_body() noexcept;
  /// Adds a piece, which lies in the unread bytes or has just been skipped.
  void keep(std::string_view piece) noexcept;
  std::string_view body() const noexcept {
    return {buffer_.get() + body_begin_, body_end_ - body_begin_};
  }
  void end_body() noexcept { has_body_ = false; }

 private:
  Step next_line(std::size_t most, std::string_view& line, bool& too_long);
  Step take_field(std::string_view line);
  Step take_known_field(std::string_view name, std::string_view value);
  Step take_length(std::string_view value);
  Step refuse_field(std::string_view line);
  Step refuse(int status, std::string why);
  void resize(std::size_t capacity);
  void close_gap() noexcept;
  void move_to(char* to) noexcept;

  Kind kind_;
  std::size_t most_line_;
  std::size_t most_fields_;
  std::size_t most_field_bytes_;
  std::size_t most_capacity_;

  // begin_ <= body_begin_ <= body_end_ <= at_ <= scanned_ <= end_ <= capacity_
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;    // without the padding
  std::size_t begin_ = 0;       // of the message
  std::size_t body_begin_ = 0;  // these two only with has_body_
  std::size_t body_end_ = 0;
  std::size_t at_ = 0;       // what was not used yet
  std::size_t scanned_ = 0;  // up to here there is no end of line
  std::size_t end_ = 0;
  bool has_body_ = false;
  bool filled_ = false;

  std::size_t field_bytes_ = 0;
  std::string_view start_line_;
  std::vector<Field> fields_;
  Facts facts_;
  Refusal refusal_;
};

}  // namespace godwit::inline v0::http
