// What a struct says about its fields beyond their names and types. All of it is optional: a plain
// struct without any of this has a JSON form and a schema already.
//
//   struct Weather {
//     std::string city{};
//     int days = 3;
//     static constexpr godwit::Field fields[] = {
//         {"city", "City to look up"},
//         {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10, .has_default =
//         true}};
//     static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

struct Field {
  /// The C++ name of the field. Naming one that does not exist does not compile.
  std::string_view name{};
  /// For people and models: goes into the schema as its description.
  std::string_view about{};
  /// The name on the wire, where it cannot be the C++ name ("class", "content-type").
  std::string_view rename{};
  /// Bounds of a number, both included.
  std::optional<double> minimum{};
  std::optional<double> maximum{};
  /// Bounds of a string, in Unicode code points.
  std::optional<std::size_t> min_length{};
  std::optional<std::size_t> max_length{};
  /// An ECMA-262 regular expression that must match somewhere in the string.
  std::string_view pattern{};
  /// The member may be left out; it then keeps its initialiser, which the schema shows as default.
  bool has_default = false;
  /// Further members of its schema, a JSON object: R"({"format":"uri"})". They are shown, not
  /// checked.
  std::string_view schema{};
};

/// What to do with members that the struct does not have.
enum class Unknown : std::uint8_t { ignore, reject };

/// Specialise to describe a struct that you cannot change: give it `fields` and, if wanted,
/// `unknown_members`, spelled as inside a struct.
template <class T>
struct Describe {};

namespace json::detail {
/// A pattern of a Field, compiled once.
class GODWIT_API FieldPattern {
 public:
  /// Ends the program with a sentence if the pattern cannot be used: it is the program's own text.
  explicit FieldPattern(std::string_view pattern);
  ~FieldPattern();
  FieldPattern(const FieldPattern&) = delete;
  FieldPattern& operator=(const FieldPattern&) = delete;
  bool matches(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace json::detail

}  // namespace godwit::inline v0
