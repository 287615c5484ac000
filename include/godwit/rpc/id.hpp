// Id: what ties an answer to its request. A string, a number, or null. Type and value both count: 1
// and "1" are different ids. A number that is not a 64-bit integer keeps its text, every digit of
// it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "godwit/base/export.hpp"
#include "godwit/json/codec.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0::rpc {

class GODWIT_API Id {
 public:
  /// null
  Id() = default;
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Id(I number) : value_(std::in_place_index<1>, static_cast<std::int64_t>(number)) {
    if constexpr (!std::in_range<std::int64_t>(std::numeric_limits<I>::max())) {
      if (!std::in_range<std::int64_t>(number)) set_large(number);
    }
  }
  Id(std::string text) : value_(std::move(text)) {}
  Id(std::string_view text) : value_(std::string(text)) {}
  Id(const char* text) : value_(std::string(text)) {}
  /// From parsed JSON; nothing if it is not a string, a number or null.
  static std::optional<Id> from(json::View view);

  bool is_null() const noexcept { return std::holds_alternative<std::monostate>(value_); }
  bool is_string() const noexcept { return std::holds_alternative<std::string>(value_); }
  bool is_number() const noexcept { return !is_null() && !is_string(); }
  std::optional<std::int64_t> integer() const noexcept;
  std::optional<std::string_view> string() const noexcept;

  /// As JSON: `7`, `"abc"`, `null`.
  std::string text() const;
  void write(json::Writer& writer) const;
  std::size_t hash() const noexcept;

  bool operator==(const Id&) const = default;

 private:
  struct NumberText {
    std::string text;
    bool operator==(const NumberText&) const = default;
  };
  void set_large(std::uint64_t number);

  std::variant<std::monostate, std::int64_t, std::string, NumberText> value_;
};

struct IdHash {
  std::size_t operator()(const Id& id) const noexcept { return id.hash(); }
};

/// Writes an id as it came, without making an Id of it first.
GODWIT_API void write_id(json::Writer& writer, json::View id);

}  // namespace godwit::inline v0::rpc

template <>
struct godwit::json::Codec<godwit::rpc::Id> {
  static bool read(View view, rpc::Id& out, DecodeFailure& failure) {
    if (auto id = rpc::Id::from(view)) {
      out = *std::move(id);
      return true;
    }
    return failure.expected("a string or a number", view);
  }
  static void write(Writer& writer, const rpc::Id& id) { id.write(writer); }
  static Value schema() { return Object{{"type", Array{"string", "integer"}}}; }
};
