#include "schema_message.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "godwit/json/writer.hpp"
#include "schema_program.hpp"

namespace godwit::inline v0::json::detail {

namespace {
constexpr std::size_t longest_excerpt = 60;
}

std::string text_excerpt(std::string_view text) {
  if (text.size() <= longest_excerpt) return quote(text);
  std::size_t end = longest_excerpt;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return quote(text.substr(0, end)) + "...";
}

std::string excerpt(View value) {
  if (const auto text = value.as_string()) return text_excerpt(*text);
  if (value.is_array()) return "an array of " + counted(value.size(), "item");
  if (value.is_object()) return "an object of " + counted(value.size(), "member");
  std::string out;
  Writer(out).value(value);
  if (out.size() > longest_excerpt) out = out.substr(0, longest_excerpt) + "...";
  return out;
}

std::string counted(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string type_names(unsigned bits) {
  std::vector<std::string_view> names;
  const bool any_number = (bits & real_bit) != 0;
  const std::array<std::pair<bool, std::string_view>, 7> all{{
      {(bits & object_bit) != 0, "an object"},
      {(bits & array_bit) != 0, "an array"},
      {(bits & string_bit) != 0, "a string"},
      {any_number, "a number"},
      {!any_number && (bits & whole_bit) != 0, "an integer"},
      {(bits & boolean_bit) != 0, "a boolean"},
      {(bits & null_bit) != 0, "null"},
  }};
  for (const auto& [wanted, name] : all) {
    if (wanted) names.push_back(name);
  }
  if (names.empty()) return "nothing";
  std::string out(names.front());
  for (std::size_t i = 1; i < names.size(); ++i) {
    out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

std::string choice_list(const std::vector<View>& choices) {
  constexpr std::size_t most = 10;
  if (choices.empty()) return "nothing";
  std::string out = choices.size() == 1 ? "" : "one of ";
  for (std::size_t i = 0; i < choices.size() && i < most; ++i) {
    if (i > 0) out += ", ";
    out += excerpt(choices[i]);
  }
  if (choices.size() > most) out += " and " + std::to_string(choices.size() - most) + " more";
  return out;
}

std::uint64_t count_characters(std::string_view text) noexcept {
  std::uint64_t following = 0;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    // A byte 10xxxxxx follows another one of the same character.
    const std::uint64_t ones = (word >> 7) & ~(word >> 6) & 0x0101'0101'0101'0101ull;
    following += (ones * 0x0101'0101'0101'0101ull) >> 56;
  }
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++following;
  }
  return text.size() - following;
}

}  // namespace godwit::inline v0::json::detail
