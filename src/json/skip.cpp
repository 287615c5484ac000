#include "skip.hpp"

#include <cstring>

#include "scan.hpp"

namespace godwit::inline v0::json::detail {

namespace {

std::size_t skip_string(std::string_view source, std::size_t at) noexcept {
  ++at;
  for (;;) {
    at = find_quote_or_backslash(source, at);
    if (at >= source.size()) return source.size();
    if (source[at] == '"') return at + 1;
    at += 2;
  }
}

bool ends_scalar(char c) noexcept {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// White space, commas and colons: what stands between values.
std::size_t skip_between(std::string_view source, std::size_t at) noexcept {
  while (at < source.size() && (source[at] == ',' || source[at] == ':' || source[at] == ' ' ||
                                source[at] == '\n' || source[at] == '\r' || source[at] == '\t')) {
    ++at;
  }
  return at;
}

}  // namespace

std::size_t skip_value(std::string_view source, std::size_t at) noexcept {
  if (at >= source.size()) return source.size();
  if (source[at] == '"') return skip_string(source, at);
  if (source[at] != '{' && source[at] != '[') {
    while (at < source.size() && !ends_scalar(source[at])) ++at;
    return at;
  }
  std::size_t depth = 0;
  while (at < source.size()) {
    switch (source[at]) {
      case '"':
        at = skip_string(source, at);
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) return at + 1;
        break;
      default:
        break;
    }
    ++at;
  }
  return at;
}

// Walks tape and source in step, from the last known place if that is not behind the target.
// Containers that end before the target are passed over whole.
std::string_view source_of(const Tape& tape, std::uint32_t index) noexcept {
  std::uint32_t word = 1;
  std::size_t at = 0;
  if (tape.known_index <= index) {
    word = tape.known_index;
    at = tape.known_offset;
  }
  at = skip_between(tape.source, at);
  while (word < index) {
    const std::uint64_t entry = tape.words[word];
    switch (static_cast<char>(entry >> 56)) {
      case '{':
      case '[': {
        const auto after = static_cast<std::uint32_t>(entry);
        if (after <= index) {
          at = skip_value(tape.source, at);
          word = after;
        } else {
          ++at;
          ++word;
        }
        break;
      }
      case '}':
      case ']':
        ++at;
        ++word;
        break;
      case 'l':
      case 'u':
      case 'd':
        at = skip_value(tape.source, at);
        word += 2;
        break;
      default:
        at = skip_value(tape.source, at);
        ++word;
        break;
    }
    at = skip_between(tape.source, at);
  }
  tape.known_index = index;
  tape.known_offset = at;
  return tape.source.substr(at, skip_value(tape.source, at) - at);
}

}  // namespace godwit::inline v0::json::detail
