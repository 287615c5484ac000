#include "format.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "pattern.hpp"

namespace godwit::inline v0::json::detail {

namespace {

bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool hex_digit(char c) noexcept {
  return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Exactly `count` digits at the front, which are taken off.
std::optional<int> take_number(std::string_view& text, std::size_t count) noexcept {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) noexcept {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_date(std::string_view& text) noexcept {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return false;
  const auto month = take_number(text, 2);
  if (!month || *month < 1 || *month > 12 || !take(text, '-')) return false;
  const auto day = take_number(text, 2);
  if (!day || *day < 1) return false;
  constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (*year % 4 == 0 && *year % 100 != 0) || *year % 400 == 0;
  const int last = *month == 2 && leap ? 29 : days[static_cast<std::size_t>(*month - 1)];
  return *day <= last;
}

bool take_time(std::string_view& text) noexcept {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return false;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return false;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return false;
  if (take(text, '.')) {
    if (text.empty() || !digit(text[0])) return false;
    while (!text.empty() && digit(text[0])) text.remove_prefix(1);
  }
  int offset = 0;
  if (!take(text, 'Z') && !take(text, 'z')) {
    const int sign = take(text, '+') ? 1 : -1;
    if (sign < 0 && !take(text, '-')) return false;
    const auto hours = take_number(text, 2);
    if (!hours || *hours > 23 || !take(text, ':')) return false;
    const auto minutes = take_number(text, 2);
    if (!minutes || *minutes > 59) return false;
    offset = sign * (*hours * 60 + *minutes);
  }
  // A leap second is the last one of a day in UTC.
  constexpr int day = 24 * 60;
  if (*second == 60 && (*hour * 60 + *minute - offset + day) % day != day - 1) return false;
  return true;
}

bool is_date(std::string_view text) noexcept { return take_date(text) && text.empty(); }
bool is_time(std::string_view text) noexcept { return take_time(text) && text.empty(); }
bool is_date_time(std::string_view text) noexcept {
  return take_date(text) && (take(text, 'T') || take(text, 't')) && take_time(text) && text.empty();
}

/// RFC 3339, appendix A: units in order, without a gap, at least one.
bool take_units(std::string_view& text, std::string_view units) noexcept {
  std::size_t next = 0;
  bool any = false;
  while (!text.empty() && digit(text[0])) {
    while (!text.empty() && digit(text[0])) text.remove_prefix(1);
    if (text.empty()) return false;
    const std::size_t unit = units.find(text[0], next);
    if (unit == std::string_view::npos || (any && unit != next)) return false;
    text.remove_prefix(1);
    next = unit + 1;
    any = true;
  }
  return any;
}

bool is_duration(std::string_view text) noexcept {
  if (!take(text, 'P') || text.empty()) return false;
  if (text[0] != 'T') {
    std::string_view weeks = text;
    if (take_units(weeks, "W") && weeks.empty()) return true;
    if (!take_units(text, "YMD")) return false;
    if (text.empty()) return true;
  }
  return take(text, 'T') && take_units(text, "HMS") && text.empty();
}

bool is_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !hex_digit(text[i])) return false;
  }
  return true;
}

bool is_json_pointer(std::string_view text) noexcept {
  if (!text.empty() && text[0] != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 >= text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

bool is_relative_json_pointer(std::string_view text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  if (count == 0 || (count > 1 && text[0] == '0')) return false;
  text.remove_prefix(count);
  return text == "#" || is_json_pointer(text);
}

/// RFC 6570: the name and its dots, then an optional "*" or ":n".
bool is_variable(std::string_view text) noexcept {
  if (text.ends_with('*')) {
    text.remove_suffix(1);
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view length = text.substr(colon + 1);
    if (length.empty() || length.size() > 4 || length[0] == '0' ||
        !std::all_of(length.begin(), length.end(), digit)) {
      return false;
    }
    text = text.substr(0, colon);
  }
  bool fresh = true;  // nothing since the start or the last dot
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.') {
      if (fresh) return false;
      fresh = true;
      continue;
    }
    if (c == '%') {
      if (i + 2 >= text.size() || !hex_digit(text[i + 1]) || !hex_digit(text[i + 2])) return false;
      i += 2;
    } else if (!letter(c) && !digit(c) && c != '_') {
      return false;
    }
    fresh = false;
  }
  return !fresh;
}

bool is_uri_template(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) return false;
      std::string_view inside = text.substr(i + 1, end - i - 1);
      if (!inside.empty() &&
          std::string_view("+#./;?&=,!@|").find(inside[0]) != std::string_view::npos) {
        inside.remove_prefix(1);
      }
      while (true) {
        const std::size_t comma = inside.find(',');
        if (!is_variable(inside.substr(0, comma))) return false;
        if (comma == std::string_view::npos) break;
        inside.remove_prefix(comma + 1);
      }
      i = end;
    } else if (c == '%') {
      if (i + 2 >= text.size() || !hex_digit(text[i + 1]) || !hex_digit(text[i + 2])) return false;
      i += 2;
    } else if (c <= 0x20 || c == 0x7f ||
               std::string_view("\"<>\\^`|}").find(text[i]) != std::string_view::npos) {
      return false;
    }
  }
  return true;
}

constexpr std::array<Format, 19> formats{{
    {"date-time", false, [](std::string_view text) { return is_date_time(text); }},
    {"date", false, [](std::string_view text) { return is_date(text); }},
    {"time", false, [](std::string_view text) { return is_time(text); }},
    {"duration", false, [](std::string_view text) { return is_duration(text); }},
    {"email", true, [](std::string_view text) { return is_email(text, false); }},
    {"idn-email", true, [](std::string_view text) { return is_email(text, true); }},
    {"hostname", true, is_hostname},
    {"idn-hostname", true, is_idn_hostname},
    {"ipv4", false, [](std::string_view text) { return is_ipv4(text); }},
    {"ipv6", false, [](std::string_view text) { return is_ipv6(text); }},
    {"uri", false, [](std::string_view text) { return is_uri(text, false, false); }},
    {"uri-reference", false, [](std::string_view text) { return is_uri(text, false, true); }},
    {"iri", false, [](std::string_view text) { return is_uri(text, true, false); }},
    {"iri-reference", false, [](std::string_view text) { return is_uri(text, true, true); }},
    {"uuid", false, [](std::string_view text) { return is_uuid(text); }},
    {"uri-template", false, [](std::string_view text) { return is_uri_template(text); }},
    {"json-pointer", false, [](std::string_view text) { return is_json_pointer(text); }},
    {"relative-json-pointer", false,
     [](std::string_view text) { return is_relative_json_pointer(text); }},
    {"regex", true,
     [](std::string_view text) {
       return translate_pattern(text).outcome != Translation::Outcome::invalid;
     }},
}};

}  // namespace

const Format* find_format(std::string_view name) noexcept {
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace godwit::inline v0::json::detail
