#include "godwit/json/view.hpp"

#include <algorithm>
#include <vector>

#include "godwit/base/work.hpp"
#include "number.hpp"
#include "skip.hpp"

namespace godwit::inline v0::json {

std::string_view to_string(Type type) noexcept {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "boolean";
    case Type::number:
      return "number";
    case Type::string:
      return "string";
    case Type::array:
      return "array";
    case Type::object:
      return "object";
  }
  return "unknown";
}

namespace {
template <class T>
bool put(const std::optional<T>& value, T& out) noexcept {
  if (value) out = *value;
  return value.has_value();
}
}  // namespace

bool View::rare(std::int64_t& out) const noexcept {
  // simdjson and our parser use 'u' only beyond the range of int64.
  if (tag() != 'd') return false;
  return put(detail::whole_int64(std::bit_cast<double>(number_word())), out);
}

bool View::rare(std::uint64_t& out) const noexcept {
  if (tag() == 'd') return put(detail::whole_uint64(std::bit_cast<double>(number_word())), out);
  if (tag() != 'u') return false;
  out = number_word();
  return true;
}

bool View::rare(double& out) const noexcept {
  switch (tag()) {
    case 'l':
      out = static_cast<double>(static_cast<std::int64_t>(number_word()));
      return true;
    case 'u':
      out = static_cast<double>(number_word());
      return true;
    case 'b':
      return put(detail::parse_double(text_at(index_)), out);
    default:
      return false;
  }
}

bool View::is_integer() const noexcept {
  switch (tag()) {
    case 'l':
    case 'u':
    case 'b':
      return true;
    case 'd': {
      const double value = std::bit_cast<double>(number_word());
      return value == static_cast<double>(static_cast<std::int64_t>(
                          value >= -0x1p63 && value < 0x1p63 ? value : 0)) ||
             value >= 0x1p53 || value <= -0x1p53;  // a double that large has no fraction
    }
    default:
      return false;
  }
}

std::size_t View::size() const noexcept {
  if (tag() != '{' && tag() != '[') return 0;
  const auto count = static_cast<std::size_t>((payload() >> 32) & 0xff'ffff);
  if (count < 0xff'ffff) return count;
  std::size_t counted = 0;  // the count on the tape is saturated
  if (tag() == '{') {
    for ([[maybe_unused]] MemberView member : members()) ++counted;
  } else {
    for ([[maybe_unused]] View item : items()) ++counted;
  }
  return counted;
}

View View::find(std::string_view key) const noexcept {
  View found;
  if constexpr (godwit::detail::base::counts_work) {
    godwit::detail::base::count_work(size() + 1);
  }
  for (const auto [name, value] : members()) {
    if (detail::same_name(name, key)) found = value;
  }
  return found;
}

View View::at(std::size_t position) const noexcept {
  for (View item : items()) {
    godwit::detail::base::count_work(1);
    if (position-- == 0) return item;
  }
  return {};
}

std::optional<std::string_view> View::duplicate_key() const {
  const std::size_t count = size();
  if (tag() != '{' || count < 2) return std::nullopt;
  // Few names are told apart by a filter, and compared only where that cannot; many are sorted.
  constexpr std::size_t few = 16;
  if (count <= few) {
    detail::NameFilter filter;
    const Members all = members();
    for (auto it = all.begin(); it != all.end(); ++it) {
      const std::string_view name = (*it).key;
      godwit::detail::base::count_work(1);
      if (!filter.maybe_seen(name)) continue;
      for (auto earlier = all.begin(); earlier != it; ++earlier) {
        if (detail::same_name((*earlier).key, name)) return name;
      }
    }
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  names.reserve(count);
  for (const auto [name, value] : members()) names.push_back(name);
  godwit::detail::base::count_work(count * static_cast<std::size_t>(std::bit_width(count)));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return *twice;
}

std::string_view View::source() const {
  std::size_t walked = 0;
  return source(walked);
}

std::string_view View::source(std::size_t& walked) const {
  if (!tape_) return {};
  return detail::source_of(*tape_, index_, walked);
}

}  // namespace godwit::inline v0::json
