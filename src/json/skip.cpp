#include "skip.hpp"

#include <cstring>

#include "godwit/base/work.hpp"
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

namespace {

/// How many words of the tape lie between two places that are remembered.
constexpr std::uint32_t stride = 16;

/// Walks tape and source in step until a word at or after the target begins. Containers that end
/// before the target are passed over whole.
Place walk(const Tape& tape, Place at, std::uint32_t target) noexcept {
  std::size_t offset = skip_between(tape.source, at.offset);
  std::uint32_t word = at.word;
  while (word < target) {
    const std::uint64_t entry = tape.words[word];
    switch (static_cast<char>(entry >> 56)) {
      case '{':
      case '[': {
        const auto after = static_cast<std::uint32_t>(entry);
        if (after <= target) {
          offset = skip_value(tape.source, offset);
          word = after;
        } else {
          ++offset;
          ++word;
        }
        break;
      }
      case '}':
      case ']':
        ++offset;
        ++word;
        break;
      case 'l':
      case 'u':
      case 'd':
        offset = skip_value(tape.source, offset);
        word += 2;
        break;
      default:
        offset = skip_value(tape.source, offset);
        ++word;
        break;
    }
    offset = skip_between(tape.source, offset);
  }
  return {word, static_cast<std::uint32_t>(offset)};
}

/// Remembers a place every few words, so that any value is found from one nearby.
void remember_places(const Tape& tape) {
  const auto words = static_cast<std::uint32_t>(tape.words[1]);
  tape.places.reserve(words / stride + 1);
  Place place{1, 0};
  for (std::uint32_t target = 0; target < words; target += stride) {
    place = walk(tape, place, target);
    tape.places.push_back(place);
  }
}

/// Where to start from for this target. Asking in order walks the source once, from the last place
/// to the next. Going back means to begin at the front, which is all right now and then; once that
/// has cost some times the length of the source, places are remembered.
Place start_for(const Tape& tape, std::uint32_t target, std::size_t& walked) {
  constexpr std::size_t short_source = 4'096;
  if (tape.places.empty() && tape.walked > 4 * tape.source.size() + short_source) {
    remember_places(tape);
    walked += tape.source.size();
  }
  const Place near = tape.places.empty() ? Place{} : tape.places[target / stride];
  return near.word <= tape.known.word && tape.known.word <= target ? tape.known : near;
}

}  // namespace

std::string_view source_of(const Tape& tape, std::uint32_t index, std::size_t& walked) {
  std::size_t steps = 0;
  const Place from = start_for(tape, index, steps);
  const Place place = walk(tape, from, index);
  tape.walked += place.offset - from.offset;
  tape.known = place;
  const std::size_t end = skip_value(tape.source, place.offset);
  steps += end - from.offset;
  godwit::detail::base::count_work(steps);
  walked += steps;
  return tape.source.substr(place.offset, end - place.offset);
}

}  // namespace godwit::inline v0::json::detail
