#include "godwit/json/writer.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "godwit/json/value.hpp"
#include "number.hpp"
#include "scan.hpp"

namespace godwit::inline v0::json {

namespace {

/// Writes one byte that a JSON string cannot hold as it is.
void escape(std::string& out, unsigned char c) {
  static constexpr char hex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"", 2);
      return;
    case '\\':
      out.append("\\\\", 2);
      return;
    case '\b':
      out.append("\\b", 2);
      return;
    case '\f':
      out.append("\\f", 2);
      return;
    case '\n':
      out.append("\\n", 2);
      return;
    case '\r':
      out.append("\\r", 2);
      return;
    case '\t':
      out.append("\\t", 2);
      return;
    default:
      out.append({'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]});
  }
}

}  // namespace

void Writer::make_room(std::size_t size) {
  const std::size_t needed = out_.size() + size + long_text;
  if (needed > out_.capacity()) out_.reserve(std::max(needed, 2 * out_.capacity()));
}

void Writer::integer(std::int64_t v) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, v).ptr;
  out_.append(digits, static_cast<std::size_t>(end - digits));
}

void Writer::unsigned_integer(std::uint64_t v) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, v).ptr;
  out_.append(digits, static_cast<std::size_t>(end - digits));
}

void Writer::real(double v) {
  if (!std::isfinite(v)) {
    lossy_ = true;
    out_.append("null", 4);
    return;
  }
  if (short_decimal(v)) return;
  char digits[32];
  const char* end = std::to_chars(digits, digits + sizeof digits, v).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out_.append(text);
  // 1.0 keeps its point, so that the reader still sees a number that was not an integer.
  if (text.find_first_of(".e") == std::string_view::npos) out_.append(".0", 2);
}

// Most numbers that people and programs write have few decimals, and those need no search for the
// shortest digits: if v is the double nearest to m / 10^6 and m has at most 15 digits, then m with
// its point set and its zeros cut off is the only decimal of so few digits that reads back as v.
bool Writer::short_decimal(double v) {
  constexpr double scale = 1e6;
  const double scaled = v * scale;
  if (!(scaled > -1e15 && scaled < 1e15)) return false;
  const auto whole = static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  // Both are exact doubles, so the division is rounded once, just as reading the decimal is.
  if (static_cast<double>(whole) / scale != v || whole == 0)
    return false;  // -0.0 goes the long way
  char text[24];
  char* at = text + sizeof text;
  auto rest = static_cast<std::uint64_t>(whole < 0 ? -whole : whole);
  std::uint64_t decimals = rest % 1'000'000;
  rest /= 1'000'000;
  int places = 6;
  while (places > 1 && decimals % 10 == 0) {
    decimals /= 10;
    --places;
  }
  for (; places > 0; --places, decimals /= 10) *--at = static_cast<char>('0' + decimals % 10);
  *--at = '.';
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest > 0);
  if (whole < 0) *--at = '-';
  out_.append(at, static_cast<std::size_t>(text + sizeof text - at));
  return true;
}

void Writer::text(std::string_view v) {
  // Short and plain is the rule: one append for all of it.
  char quoted[66];
  if (v.size() <= sizeof quoted - 2 && detail::plain_prefix(v, false) == v.size()) {
    quoted[0] = '"';
    if (!v.empty()) std::memcpy(quoted + 1, v.data(), v.size());
    quoted[v.size() + 1] = '"';
    out_.append(quoted, v.size() + 2);
    return;
  }
  if (v.size() >= long_text) make_room(v.size());
  out_.push_back('"');
  bool checked = false;
  for (;;) {
    const std::size_t plain = detail::plain_prefix(v, checked);
    out_.append(v.data(), plain);
    v.remove_prefix(plain);
    if (v.empty()) break;
    const auto c = static_cast<unsigned char>(v[0]);
    if (c < 0x80) {
      escape(out_, c);
      v.remove_prefix(1);
    } else if (!checked) {
      // The first byte beyond ASCII: judge the rest of the text once.
      if (!simdjson::validate_utf8(v.data(), v.size())) {
        repaired_text(v);
        break;
      }
      checked = true;
    }
  }
  out_.push_back('"');
}

void Writer::repaired_text(std::string_view v) {
  lossy_ = true;
  while (!v.empty()) {
    const auto c = static_cast<unsigned char>(v[0]);
    std::size_t length = 1;
    if (c >= 0x80) {
      length = detail::utf8_length(v);
      if (length == 0) {
        out_.append("\xef\xbf\xbd", 3);
        v.remove_prefix(1);
        continue;
      }
      out_.append(v.data(), length);
    } else if (c < 0x20 || c == '"' || c == '\\') {
      escape(out_, c);
    } else {
      out_.push_back(v[0]);
    }
    v.remove_prefix(length);
  }
}

void Writer::value(const Value& v) {
  switch (v.type()) {
    case Type::null:
      return null();
    case Type::boolean:
      return value(*v.as_bool());
    case Type::string:
      return value(*v.as_string());
    case Type::number:
      if (!v.big_integer().empty()) return raw(v.big_integer());
      if (v.is_real()) return value(*v.as_double());
      if (const auto whole = v.as_int64()) return value(*whole);
      return value(*v.as_uint64());
    case Type::array:
      begin_array();
      for (const Value& item : *v.as_array()) value(item);
      return end_array();
    case Type::object:
      begin_object();
      for (const Member& member : *v.as_object()) {
        key(member.key);
        value(member.value);
      }
      return end_object();
  }
}

void Writer::value(View v) {
  switch (v.type()) {
    case Type::null:
      return null();
    case Type::boolean:
      return value(*v.as_bool());
    case Type::string:
      return value(*v.as_string());
    case Type::number:
      if (v.is_big_integer()) return raw(v.big_integer());
      if (v.is_real()) return value(*v.as_double());
      if (const auto whole = v.as_int64()) return value(*whole);
      return value(*v.as_uint64());
    case Type::array:
      begin_array();
      for (View item : v.items()) value(item);
      return end_array();
    case Type::object:
      begin_object();
      for (const auto [name, member] : v.members()) {
        key(name);
        value(member);
      }
      return end_object();
  }
}

std::string quote(std::string_view text) {
  std::string out;
  Writer(out).value(text);
  return out;
}

std::string pretty(std::string_view json, int indent) {
  std::string out;
  out.reserve(json.size() * 2);
  std::size_t level = 0;
  const auto newline = [&] {
    out.push_back('\n');
    out.append(level * static_cast<std::size_t>(indent), ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    switch (c) {
      case '"': {
        const std::size_t begin = i++;
        while (i < json.size() && json[i] != '"') i += json[i] == '\\' ? 2u : 1u;
        out.append(json.substr(begin, i - begin + 1));
        break;
      }
      case '{':
      case '[': {
        out.push_back(c);
        std::size_t next = i + 1;
        while (next < json.size() &&
               std::string_view(" \t\r\n").find(json[next]) != std::string_view::npos)
          ++next;
        if (next < json.size() && (json[next] == '}' || json[next] == ']')) {
          out.push_back(json[next]);
          i = next;
        } else {
          ++level;
          newline();
        }
        break;
      }
      case '}':
      case ']':
        if (level > 0) --level;
        newline();
        out.push_back(c);
        break;
      case ',':
        out.push_back(c);
        newline();
        break;
      case ':':
        out.append(": ");
        break;
      case ' ':
      case '\t':
      case '\r':
      case '\n':
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace godwit::inline v0::json
