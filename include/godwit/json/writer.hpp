// Writer: appends JSON text to a string. The caller says what comes; the Writer puts the commas,
// the escapes and the shortest digits that read back equal. It never writes invalid UTF-8 (bad
// bytes become U+FFFD) nor NaN or Infinity (they become null); lossy() tells that this happened.
//
//   std::string out;
//   json::Writer w(out);
//   w.begin_object(); w.key("n"); w.value(1.0); w.end_object();   // {"n":1.0}
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json {

class Value;

class GODWIT_API Writer {
 public:
  explicit Writer(std::string& out) noexcept : out_(out) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  /// The name of the member whose value comes next.
  void key(std::string_view name) {
    comma();
    text(name);
    out_.push_back(':');
    comma_ = false;
  }
  /// The same for a name that is known to need no escaping, already written as `"name":`.
  void raw_key(std::string_view quoted_with_colon) {
    comma();
    out_.append(quoted_with_colon);
    comma_ = false;
  }

  void null() { token("null"); }
  void value(std::nullptr_t) { null(); }
  void value(bool v) { token(v ? "true" : "false"); }
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  void value(I v) {
    comma();
    if constexpr (std::signed_integral<I>) {
      integer(static_cast<std::int64_t>(v));
    } else {
      unsigned_integer(static_cast<std::uint64_t>(v));
    }
    comma_ = true;
  }
  void value(double v) {
    comma();
    real(v);
    comma_ = true;
  }
  void value(std::string_view v) {
    comma();
    text(v);
    comma_ = true;
  }
  void value(const char* v) { value(std::string_view(v)); }
  void value(const std::string& v) { value(std::string_view(v)); }
  void value(const Value& v);
  /// Writes what the view shows, in compact form.
  void value(View v);
  /// Text that is JSON already. Not checked.
  void raw(std::string_view json) { token(json); }

  /// True if something had to be replaced because JSON cannot carry it.
  bool lossy() const noexcept { return lossy_; }
  std::string& out() noexcept { return out_; }

 private:
  void comma() {
    if (comma_) out_.push_back(',');
  }
  void open(char bracket) {
    comma();
    out_.push_back(bracket);
    comma_ = false;
  }
  void close(char bracket) {
    out_.push_back(bracket);
    comma_ = true;
  }
  void token(std::string_view t) {
    comma();
    if (t.size() >= long_text) make_room(t.size());
    out_.append(t);
    comma_ = true;
  }
  static constexpr std::size_t long_text = 1024;
  /// For a text of this size and what usually follows it. Without that a long text would fill the
  /// string to its end, and the next byte would copy it all once more.
  void make_room(std::size_t size);
  void integer(std::int64_t v);
  void unsigned_integer(std::uint64_t v);
  void real(double v);
  bool short_decimal(double v);
  void text(std::string_view v);
  void repaired_text(std::string_view v);

  std::string& out_;
  bool comma_ = false;
  bool lossy_ = false;
};

/// The text as a JSON string with its quotes.
GODWIT_API std::string quote(std::string_view text);

/// Compact JSON text made readable: `indent` spaces per level. The input must be valid JSON.
GODWIT_API std::string pretty(std::string_view json, int indent);

}  // namespace godwit::inline v0::json
