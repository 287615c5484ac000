// decode: JSON into C++ values, with errors that name the place, what was expected and what came:
//
//   struct Weather { std::string city{}; std::optional<int> days{}; };
//   godwit::Result<Weather> in = godwit::json::decode<Weather>(R"({"city":"Oslo","days":"two"})");
//   in.error().message    // /days: expected an integer, got "two"
//
// A struct must have all its members in the JSON but those that are std::optional (or a smart
// pointer) or have Field::has_default. Members it does not know are ignored unless it says
// otherwise; one that occurs twice is refused.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/base/work.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/document.hpp"

namespace godwit::inline v0::json {

/// Why decoding stopped. Filled in on the way out: the innermost place writes the message, each
/// level above puts its step in front of the path.
class GODWIT_API DecodeFailure {
 public:
  /// "expected WHAT, got …". Always false, to be returned.
  bool expected(std::string_view what, View got);
  /// Any other sentence. Always false.
  bool fail(std::string message);
  bool missing(std::string_view member, std::string_view about);
  bool unknown(std::string_view member, std::span<const std::string_view> known);
  bool twice(std::string_view member);
  bool not_in(std::span<const std::string_view> allowed, View got);
  /// None of the kinds ("an integer", "a string") of a variant is that of the value. Always false.
  bool no_kind(std::span<const std::string_view> kinds, View got);
  /// None of the shapes of a variant fits, for these reasons. Always false.
  bool no_shape(std::span<const DecodeFailure> reasons, View got);
  /// Moves path and message out, or in. Neither touches the budget.
  DecodeFailure take();
  void put(DecodeFailure&& reason) noexcept;

  /// Puts a step in front of the path. Always false.
  bool inside(std::string_view member);
  bool inside(std::size_t item);

  /// JSON Pointer to the place; empty is the whole value.
  const std::string& path() const noexcept { return path_; }
  const std::string& message() const noexcept { return message_; }
  /// `PATH: MESSAGE`.
  std::string text() const;
  /// The text as an Error (invalid params), with the path as data.
  Error to_error() const;
  void clear();

  /// Reading a variant tries one shape after the other, and variants inside variants multiply that.
  /// This bounds the work a hostile text can cause: everything that is read inside of variants is
  /// paid from a budget in proportion to the text. Values are counted, and the bytes of them.
  void enter_variant(View view) noexcept {
    if (variants_++ == 0) grant(view);
  }
  void leave_variant() noexcept { --variants_; }
  /// False if the budget is used up, as the message says then. Free outside of variants.
  bool spend(std::size_t steps = 1) {
    godwit::detail::base::count_work(steps);
    if (variants_ == 0) return true;
    if (exhausted_ || steps_ < steps) return give_up();
    steps_ -= steps;
    return true;
  }
  /// For bytes that are copied or walked over.
  bool spend_bytes(std::size_t bytes) {
    if (variants_ == 0) return true;
    if (exhausted_ || bytes_ < bytes) return give_up();
    bytes_ -= bytes;
    return true;
  }
  /// For a copy of a whole value.
  bool spend_value(View view) { return variants_ == 0 || spend_all(view); }
  bool exhausted() const noexcept { return exhausted_; }

 private:
  void grant(View variant) noexcept;
  bool spend_all(View view);
  bool give_up();

  std::string path_;
  std::string message_;
  std::uint64_t steps_ = 100'000;
  std::uint64_t bytes_ = 0;
  std::uint32_t variants_ = 0;
  bool granted_bytes_ = false;
  bool exhausted_ = false;
};

/// Decodes into `out`. False means the failure says why; `out` is then in an unspecified state.
template <class T>
bool read(View view, T& out, DecodeFailure& failure);

namespace detail {

/// The sentence for something that is no integer between these. Apart, so that its strings cost the
/// good path nothing.
GODWIT_API bool not_whole(View view, std::int64_t lowest, std::uint64_t highest,
                          DecodeFailure& failure);

template <class T>
bool read_whole(View view, T& out, DecodeFailure& failure) {
  std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t> value = 0;
  if (view.get(value) && std::in_range<T>(value)) {
    out = static_cast<T>(value);
    return true;
  }
  using Bounds = std::numeric_limits<T>;
  return not_whole(view, static_cast<std::int64_t>(Bounds::min()),
                   static_cast<std::uint64_t>(Bounds::max()), failure);
}

template <class T>
bool read_real(View view, T& out, DecodeFailure& failure) {
  double value = 0;
  const bool fits = view.get(value);
  if (!fits && !view.is_number()) return failure.expected("a number", view);
  if constexpr (std::same_as<T, float>) {
    // 3.4028235e38 is what the largest float is written as, and a little more than it.
    constexpr double largest = static_cast<double>(std::numeric_limits<float>::max());
    constexpr double rounds_up_to_infinity = 0x1.ffffffp127;
    if (!fits || std::abs(value) >= rounds_up_to_infinity) {
      return failure.expected("a number that a float can hold", view);
    }
    out = static_cast<float>(std::clamp(value, -largest, largest));
  } else {
    if (!fits) return failure.expected("a number that a double can hold", view);
    out = static_cast<T>(value);
  }
  return true;
}

template <class E>
bool read_enum(View view, E& out, DecodeFailure& failure) {
  const std::optional<std::string_view> name = view.as_string();
  for (const auto& [value, known] : enum_names<E>) {
    if (name == known) {
      out = value;
      return true;
    }
  }
  std::string_view allowed[enum_names<E>.size()];
  for (std::size_t i = 0; i < enum_names<E>.size(); ++i) allowed[i] = enum_names<E>[i].second;
  return failure.not_in(allowed, view);
}

template <class T>
bool read_sequence(View view, T& out, DecodeFailure& failure) {
  if (!view.is_array()) return failure.expected("an array", view);
  out.clear();
  if constexpr (requires { out.reserve(std::size_t{}); }) out.reserve(view.size());
  std::size_t position = 0;
  for (View item : view.items()) {
    typename T::value_type value{};
    if (!failure.spend() || !read(item, value, failure)) return failure.inside(position);
    out.insert(out.end(), std::move(value));
    ++position;
  }
  return true;
}

template <class T>
bool read_array(View view, T& out, DecodeFailure& failure) {
  if (!view.is_array() || view.size() != out.size()) {
    return failure.expected("an array of " + std::to_string(out.size()), view);
  }
  std::size_t position = 0;
  for (View item : view.items()) {
    if (!failure.spend() || !read(item, out[position], failure)) return failure.inside(position);
    ++position;
  }
  return true;
}

template <class T>
bool read_tuple(View view, T& out, DecodeFailure& failure) {
  constexpr std::size_t count = std::tuple_size_v<T>;
  if (!view.is_array() || view.size() != count) {
    return failure.expected("an array of " + std::to_string(count), view);
  }
  Items items = view.items();
  auto item = items.begin();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [&](auto& field, std::size_t position) {
      if (!read(*item, field, failure)) return failure.inside(position);
      ++item;
      return true;
    };
    return (one(std::get<I>(out), I) && ...);
  }(std::make_index_sequence<count>{});
}

template <class T>
bool read_dictionary(View view, T& out, DecodeFailure& failure) {
  if (!view.is_object()) return failure.expected("an object", view);
  out.clear();
  for (const auto [key, item] : view.members()) {
    typename T::mapped_type value{};
    if (!failure.spend() || !read(item, value, failure)) return failure.inside(key);
    if (!out.emplace(std::string(key), std::move(value)).second) return failure.twice(key);
  }
  return true;
}

template <class T>
bool read_optional(View view, T& out, DecodeFailure& failure) {
  if (view.is_null()) {
    out = T();
    return true;
  }
  using Inner = Held<T>;
  if constexpr (std::same_as<T, std::optional<Inner>>) {
    return read(view, out.emplace(), failure);
  } else {
    auto inner = std::make_unique<Inner>();
    if (!read(view, *inner, failure)) return false;
    out = std::move(inner);
    return true;
  }
}

/// Could this kind of JSON be a T at all? Keeps variants from trying what cannot work.
template <class T>
bool may_be(View view) {
  if constexpr (Customised<T> || AnyJson<T>) {
    return true;
  } else if constexpr (Nothing<T>) {
    return view.is_null();
  } else if constexpr (Optional<T>) {
    return view.is_null() || may_be<Held<T>>(view);
  } else if constexpr (Variant<T>) {
    return [&]<class... A>(std::type_identity<std::variant<A...>>) {
      return (may_be<A>(view) || ...);
    }(std::type_identity<T>{});
  } else if constexpr (std::same_as<T, bool>) {
    return view.is_bool();
  } else if constexpr (Whole<T>) {
    return view.is_integer();
  } else if constexpr (std::floating_point<T>) {
    return view.is_number();
  } else if constexpr (Text<T> || std::is_enum_v<T>) {
    return view.is_string();
  } else if constexpr (FixedArray<T> || Sequence<T> || Tuple<T>) {
    return view.is_array();
  } else {
    return view.is_object();
  }
}

/// The kinds of JSON that a T can be, for people.
template <class T>
void list_kinds(std::vector<std::string_view>& kinds) {
  if constexpr (Variant<T>) {
    for_each_part<T>([&]<class Part>(std::type_identity<Part>) { list_kinds<Part>(kinds); });
  } else if constexpr (Optional<T>) {
    list_kinds<Held<T>>(kinds);
    kinds.push_back("null");
  } else if constexpr (Nothing<T>) {
    kinds.push_back("null");
  } else if constexpr (std::same_as<T, bool>) {
    kinds.push_back("true or false");
  } else if constexpr (Whole<T>) {
    kinds.push_back("an integer");
  } else if constexpr (std::floating_point<T>) {
    kinds.push_back("a number");
  } else if constexpr (Text<T> || std::is_enum_v<T>) {
    kinds.push_back("a string");
  } else if constexpr (FixedArray<T> || Sequence<T> || Tuple<T>) {
    kinds.push_back("an array");
  } else {
    kinds.push_back("an object");
  }
}

/// The only text that a T can be; empty if there are others.
template <class T>
consteval std::string_view constant_text() {
  if constexpr (requires { Codec<T>::constant; }) {
    return Codec<T>::constant;
  } else if constexpr (std::is_enum_v<T> && !Customised<T>) {
    return enum_names<T>.size() == 1 ? enum_names<T>[0].second : std::string_view();
  } else {
    return {};
  }
}

/// A member whose text is always the same, by which a struct is told from others.
struct Tag {
  std::string_view name{};
  std::string_view text{};
};

/// The first such member of a struct; one without a name if there is none.
template <class T>
consteval Tag tag_of() {
  Tag tag;
  if constexpr (Struct<T>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto look = [&](std::string_view name, std::string_view text) {
        if (tag.name.empty() && !text.empty()) tag = {name, text};
      };
      (look(wire_names<T>[I], constant_text<FieldType<T, I>>()), ...);
    }(std::make_index_sequence<field_count<T>>{});
  }
  return tag;
}

/// Reads the tags of an object, so that a variant tries only what they do not rule out. Mostly all
/// alternatives have a tag of the same name, which is looked for once.
class TagReader {
 public:
  explicit TagReader(View object) noexcept : object_(object) {}

  /// False if there is a member of this name and it is something else.
  bool may_be(const Tag& tag, DecodeFailure& failure) {
    if (!same_name(name_, tag.name)) {
      failure.spend(object_.size());
      name_ = tag.name;
      found_ = object_.find(name_);
    }
    std::string_view text;
    return !found_ || (found_.get(text) && same_name(text, tag.text));
  }
  /// The member that was looked for last.
  std::string_view name() const noexcept { return name_; }
  View found() const noexcept { return found_; }

 private:
  View object_;
  std::string_view name_{};
  View found_{};
};

/// None of the alternatives has the tag that came.
template <class... A>
bool no_tag(const TagReader& tags, DecodeFailure& failure) {
  std::string_view allowed[sizeof...(A)];
  std::size_t count = 0;
  for (const Tag& tag : {tag_of<A>()...}) {
    if (tag.name == tags.name()) allowed[count++] = tag.text;
  }
  failure.not_in(std::span(allowed, count), tags.found());
  return failure.inside(tags.name());
}

template <class... A>
bool read_variant(View view, std::variant<A...>& out, DecodeFailure& failure) {
  // The first alternative that fits wins. A list of short strings that are tried as two types
  // each must stay well within the budget.
  constexpr std::size_t price = 4;
  std::vector<DecodeFailure> reasons;
  TagReader tags(view);
  bool ruled_out = false;
  const auto attempt = [&]<class T>(std::type_identity<T>) {
    if (!may_be<T>(view) || failure.exhausted()) return false;
    constexpr Tag tag = tag_of<T>();
    if constexpr (!tag.name.empty()) {
      if (!tags.may_be(tag, failure)) {
        ruled_out = true;
        return false;
      }
    }
    if (!failure.spend(price)) return false;
    if (read(view, out.template emplace<T>(), failure)) return true;
    if (!failure.exhausted()) reasons.push_back(failure.take());
    return false;
  };
  failure.enter_variant(view);
  const bool good = (attempt(std::type_identity<A>{}) || ...);
  failure.leave_variant();
  if (good || failure.exhausted()) return good;
  if (reasons.empty() && ruled_out) return no_tag<A...>(tags, failure);
  if (reasons.empty()) {
    std::vector<std::string_view> kinds;
    list_kinds<std::variant<A...>>(kinds);
    return failure.no_kind(kinds, view);
  }
  if (reasons.size() > 1) return failure.no_shape(reasons, view);
  failure.put(std::move(reasons.front()));  // just one has the right kind: its reason tells most
  return false;
}

template <class T>
constexpr std::uint64_t required_mask() {
  std::uint64_t mask = 0;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((mask |=
      Optional<FieldType<T, I>> || descriptions<T>[I].has_default ? 0 : std::uint64_t{1} << I),
     ...);
  }(std::make_index_sequence<field_count<T>>{});
  return mask;
}

/// Bounds of a Field, as far as it has any.
GODWIT_API bool check_number(const Field& field, View view, DecodeFailure& failure);
GODWIT_API bool check_text(std::string_view text, const Field& field, View view,
                           DecodeFailure& failure);

template <class T, std::size_t I>
bool read_field(T& object, View view, DecodeFailure& failure) {
  check_description<T, I>();
  auto& field = std::get<I>(fields_of(object));
  if (!read(view, field, failure)) return false;
  constexpr const Field& about = descriptions<T>[I];
  if constexpr (about.minimum.has_value() || about.maximum.has_value()) {
    if (view.is_number() && !check_number(about, view, failure)) return false;
  }
  if constexpr (about.min_length.has_value() || about.max_length.has_value()) {
    if (const auto text = view.as_string(); text && !check_text(*text, about, view, failure)) {
      return false;
    }
  }
  if constexpr (!about.pattern.empty()) {
    static const FieldPattern pattern(about.pattern);
    if (const auto text = view.as_string(); text && !pattern.matches(*text)) {
      return failure.expected("text that matches " + std::string(about.pattern), view);
    }
  }
  return true;
}

template <class T>
inline constexpr auto field_readers = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<bool (*)(T&, View, DecodeFailure&), sizeof...(I)>{&read_field<T, I>...};
}(std::make_index_sequence<field_count<T>>{});

template <class T>
bool check_required(std::uint64_t seen, DecodeFailure& failure) {
  const std::uint64_t missing = required_mask<T>() & ~seen;
  if (missing == 0) return true;
  const auto first = static_cast<std::size_t>(std::countr_zero(missing));
  return failure.missing(wire_names<T>[first], descriptions<T>[first].about);
}

/// Sets `strangers` if there were members that the struct does not know.
template <class T>
bool read_struct(View view, T& out, DecodeFailure& failure, bool* strangers = nullptr) {
  if (!view.is_object()) return failure.expected("an object", view);
  constexpr std::size_t count = field_count<T>;
  constexpr const auto& names = wire_names<T>;
  const Members members = view.members();
  auto at = members.begin();
  const auto end = members.end();
  std::uint64_t seen = 0;
  // Members mostly come in the order of the fields, some left out: those need no search, and each
  // name is compared with one that the compiler knows.
  const auto in_order = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if (at == end) return true;
    const auto [key, value] = *at;
    constexpr std::string_view name = wire_names<T>[I];
    if (key.size() != name.size() || std::memcmp(key.data(), name.data(), name.size()) != 0) {
      return true;
    }
    if (!failure.spend()) return false;
    if (!read_field<T, I>(out, value, failure)) return failure.inside(key);
    seen |= std::uint64_t{1} << I;
    ++at;
    return true;
  };
  const bool good = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (in_order(std::integral_constant<std::size_t, I>{}) && ...);
  }(std::make_index_sequence<count>{});
  if (!good) return false;
  // What is left came in another order, or is unknown.
  std::size_t next = 0;
  for (; at != end; ++at) {
    const auto [key, value] = *at;
    if (!failure.spend()) return false;
    std::size_t index = count;
    for (std::size_t tried = 0; tried < count; ++tried) {
      if (next >= count) next = 0;
      if (same_name(names[next], key)) {
        index = next++;
        break;
      }
      ++next;
    }
    if (index == count) {
      if constexpr (unknown_members<T>() == Unknown::reject) return failure.unknown(key, names);
      if (strangers) *strangers = true;
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << index;
    if (seen & bit) return failure.twice(key);
    seen |= bit;
    if (!field_readers<T>[index](out, value, failure)) return failure.inside(key);
  }
  return check_required<T>(seen, failure);
}

/// Fields from the items of an array, in order.
template <class T>
bool read_positional(View view, T& out, DecodeFailure& failure) {
  if (view.size() > field_count<T>) {
    return failure.expected("at most " + std::to_string(field_count<T>) + " items", view);
  }
  std::uint64_t seen = 0;
  std::size_t position = 0;
  for (View item : view.items()) {
    if (!field_readers<T>[position](out, item, failure)) return failure.inside(position);
    seen |= std::uint64_t{1} << position++;
  }
  return check_required<T>(seen, failure);
}

}  // namespace detail

template <class T>
bool read(View view, T& out, DecodeFailure& failure) {
  using namespace detail;
  if constexpr (Customised<T>) {
    return Codec<T>::read(view, out, failure);
  } else if constexpr (std::same_as<T, Value>) {
    if (!failure.spend_value(view)) return false;
    out = Value(view);
    return true;
  } else if constexpr (std::same_as<T, View>) {
    out = view;
    return true;
  } else if constexpr (AnyJson<T>) {
    std::size_t walked = 0;
    out.text = view.source(walked);
    return failure.spend_bytes(walked);
  } else if constexpr (AnyObject<T>) {
    if (!view.is_object()) return failure.expected("an object", view);
    if (!failure.spend_value(view)) return false;
    Value object(view);
    out = std::move(*object.as_object());
    return true;
  } else if constexpr (Nothing<T>) {
    return view.is_null() || failure.expected("null", view);
  } else if constexpr (std::same_as<T, bool>) {
    if (const auto v = view.as_bool()) {
      out = *v;
      return true;
    }
    return failure.expected("true or false", view);
  } else if constexpr (Whole<T>) {
    return read_whole(view, out, failure);
  } else if constexpr (std::floating_point<T>) {
    return read_real(view, out, failure);
  } else if constexpr (Text<T>) {
    std::string_view text;
    if (!view.get(text)) return failure.expected("a string", view);
    if (!failure.spend_bytes(text.size())) return false;
    if constexpr (std::same_as<T, std::string>) {
      out.assign(text);
    } else {
      out = T(text.data(), text.size());
    }
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum(view, out, failure);
  } else if constexpr (Optional<T>) {
    return read_optional(view, out, failure);
  } else if constexpr (Variant<T>) {
    return read_variant(view, out, failure);
  } else if constexpr (Dictionary<T>) {
    return read_dictionary(view, out, failure);
  } else if constexpr (FixedArray<T>) {
    return read_array(view, out, failure);
  } else if constexpr (Sequence<T>) {
    return read_sequence(view, out, failure);
  } else if constexpr (Tuple<T>) {
    return read_tuple(view, out, failure);
  } else if constexpr (Struct<T>) {
    return read_struct(view, out, failure);
  } else {
    no_json_form<T>();
    return false;
  }
}

/// A T from a view. Borrowed parts (std::string_view) live as long as the view's Document.
template <class T>
Result<T> decode(View view) {
  static_assert(Makeable<T>,
                "godwit: this type has no JSON form; make it a plain struct (an aggregate with "
                "default values) or specialise godwit::json::Codec for it");
  T out{};
  DecodeFailure failure;
  if (!read(view, out, failure)) return failure.to_error();
  return out;
}

/// A T from JSON text.
template <class T>
Result<T> decode(std::string_view text, const ParseOptions& options = {}) {
  static_assert(
      !borrows<T>,
      "godwit: a type with std::string_view, RawView or View inside would point into text "
      "that is gone after decode(text); parse a Document and decode its View instead");
  Document document;
  Result<View> root = document.parse(text, options);
  if (!root) return std::move(root).error();
  return decode<T>(*root);
}
template <class T>
Result<T> decode(const char* text) {
  return decode<T>(std::string_view(text));
}
template <class T>
Result<T> decode(const std::string& text) {
  return decode<T>(std::string_view(text));
}

/// A T from a Value.
template <class T>
Result<T> decode(const Value& value) {
  return decode<T>(std::string_view(value.dump()),
                   ParseOptions{.depth = 100'000, .number_chars = 0});
}

template <class T>
T detail::get_decoded(const Value& value) {
  Result<T> result = decode<T>(value);
  if (!result) throw TypeError("godwit: " + result.error().message);
  return *std::move(result);
}

}  // namespace godwit::inline v0::json
