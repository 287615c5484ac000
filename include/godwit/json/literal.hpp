// Literal: a string that is always the same, such as the "type" that tells the members of a union
// apart. Costs nothing to hold; decoding anything else fails, so a std::variant of structs with
// different Literals is told apart by them.
//
//   struct Circle { json::Literal<"circle"> kind{}; double radius{}; };
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/decode.hpp"

namespace godwit::inline v0::json {

namespace detail {
/// Text as a template argument.
template <std::size_t N>
struct FixedText {
  char chars[N]{};
  consteval FixedText(const char (&text)[N]) { std::copy_n(text, N, chars); }
  constexpr std::string_view view() const noexcept { return {chars, N - 1}; }
};
}  // namespace detail

template <detail::FixedText text>
struct Literal {
  static constexpr std::string_view value = text.view();
  constexpr operator std::string_view() const noexcept { return value; }
  bool operator==(const Literal&) const = default;
};

template <detail::FixedText text>
struct Codec<Literal<text>> {
  /// What tells variants which alternative to try.
  static constexpr std::string_view constant = text.view();
  static bool read(View view, Literal<text>&, DecodeFailure& failure) {
    std::string_view got;
    if (view.get(got) && got == text.view()) return true;
    constexpr std::string_view only[] = {text.view()};
    return failure.not_in(only, view);
  }
  static void write(Writer& writer, const Literal<text>&) { writer.value(text.view()); }
  static Value schema() { return Object{{"type", "string"}, {"const", std::string(text.view())}}; }
};

}  // namespace godwit::inline v0::json
