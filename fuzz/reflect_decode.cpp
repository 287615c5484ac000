// Fuzzes decoding into structs. What must hold for any text, for each of several types:
// - decoding ends, soon, in a value or in an error;
// - a value that was decoded can be written, and reads back as an equal value;
// - an error names a place that exists in the document, by a JSON Pointer that is well formed;
// - what the codec writes the inferred schema accepts, and what the schema accepts the codec takes,
//   but for what a schema cannot say (a name that occurs twice, the range of wide numbers).
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/schema_of.hpp"
#include "godwit/json/value.hpp"

#ifdef NDEBUG
#error "fuzz without NDEBUG, so that the assertions of all libraries count"
#endif

namespace {

namespace json = godwit::json;

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

enum class Unit : signed char { celsius = -1, kelvin = 4 };

struct Scalars {
  std::string s{};
  bool b{};
  std::int8_t i8{};
  std::uint16_t u16{};
  std::int64_t i64{};
  std::uint64_t u64{};
  float f{};
  double d{};
  Unit unit{};
  std::nullptr_t n{};
  bool operator==(const Scalars&) const = default;
};

struct Bounded {
  std::string s{};
  std::optional<double> d{};
  int i = 5;
  json::Value any{};
  bool operator==(const Bounded&) const = default;
  static constexpr godwit::Field fields[] = {
      {.name = "s", .rename = "s/~", .min_length = 1, .max_length = 3, .pattern = "^[^b]"},
      {.name = "d", .minimum = -1.5, .maximum = 1e3},
      {.name = "i", .minimum = 0, .has_default = true},
      {.name = "any", .has_default = true}};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};

struct Lists {
  std::vector<std::optional<int>> v{};
  std::array<bool, 2> a{};
  std::set<std::string> set{};
  std::map<std::string, std::vector<Unit>> m{};
  std::tuple<int, std::string> t{};
  std::vector<bool> bits{};
  bool operator==(const Lists&) const = default;
};

struct Circle {
  double radius{};
  bool operator==(const Circle&) const = default;
};
struct Node {
  std::variant<int, std::string, Circle, std::vector<Node>> v{};
  std::optional<std::vector<Node>> more{};
  std::map<std::string, Node> named{};
  bool operator==(const Node&) const = default;
  static constexpr godwit::Field fields[] = {{.name = "named", .has_default = true}};
};

// A variant in which every level multiplies the work.
struct Left;
struct Right;
using Branch = std::variant<std::shared_ptr<Left>, std::shared_ptr<Right>, json::Array>;
struct Left {
  json::Value d{};
  std::optional<Branch> next{};
  int l{};
};
struct Right {
  json::Value d{};
  std::optional<Branch> next{};
  int r{};
};

struct Kept {
  godwit::RawJson raw{};
  std::optional<json::Object> object{};
  bool operator==(const Kept&) const = default;
};

/// Pointers are compared by what they point to, by way of the text.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::equality_comparable<T> && !std::same_as<T, Branch>) {
    return a == b;
  } else {
    return json::encode(a) == json::encode(b);
  }
}

bool has_duplicates(json::View view) {
  if (view.duplicate_key()) return true;
  for (json::View item : view.items()) {
    if (has_duplicates(item)) return true;
  }
  for (const auto [key, value] : view.members()) {
    if (has_duplicates(value)) return true;
  }
  return false;
}

/// A number that the types with 64 bits and less may refuse while their schema takes it.
bool has_wide_numbers(json::View view) {
  const auto number = view.as_double();
  if (view.is_number() && (!number || *number > 2147483647.0 || *number < -2147483648.0)) {
    return true;
  }
  for (json::View item : view.items()) {
    if (has_wide_numbers(item)) return true;
  }
  for (const auto [key, value] : view.members()) {
    if (has_wide_numbers(value)) return true;
  }
  return false;
}

/// The text of one step of a JSON Pointer.
std::string unescaped(std::string_view step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
      continue;
    }
    CHECK(++i < step.size() && (step[i] == '0' || step[i] == '1'));
    out += step[i] == '0' ? '~' : '/';
  }
  return out;
}

void check_path(json::View root, std::string_view path) {
  std::vector<json::View> places{root};  // several where a name occurs twice
  while (!path.empty()) {
    CHECK(path[0] == '/');
    path.remove_prefix(1);
    const std::string step = unescaped(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(path.size(), path.find('/')));
    std::vector<json::View> inside;
    for (const json::View place : places) {
      if (place.is_object()) {
        for (const auto [key, value] : place.members()) {
          if (key == step) inside.push_back(value);
        }
      } else if (place.is_array()) {
        if (step.empty() || step.find_first_not_of("0123456789") != std::string::npos) continue;
        if (const json::View item = place.at(std::stoul(step))) inside.push_back(item);
      }
    }
    CHECK(!inside.empty());
    places = std::move(inside);
  }
}

template <class T>
void check(json::View root, bool duplicates, bool wide) {
  static const json::Schema schema = *json::Schema::compile(json::schema_of<T>());
  T value{};
  json::DecodeFailure failure;
  if (!json::read(root, value, failure)) {
    CHECK(!failure.message().empty());
    check_path(root, failure.path());
    const godwit::Error error = failure.to_error();
    CHECK(json::parse(error.data).has_value());
    CHECK(json::parse(json::quote(error.message)).has_value());
    if (!duplicates && !wide && !failure.exhausted()) CHECK(!schema.valid(root));
    return;
  }
  const std::string text = json::encode(value);
  json::Document document;
  const auto again = document.parse(text, {.depth = 200});
  CHECK(again.has_value());
  T second{};
  json::DecodeFailure none;
  CHECK(json::read(*again, second, none));
  CHECK(same(value, second));
  CHECK(json::encode(second) == text);
  CHECK(schema.valid(*again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static json::Document document;
  const auto root = document.parse({reinterpret_cast<const char*>(data), size});
  if (!root) return 0;
  const bool duplicates = has_duplicates(*root);
  const bool wide = has_wide_numbers(*root);
  check<Scalars>(*root, duplicates, wide);
  check<Bounded>(*root, duplicates, wide);
  check<Lists>(*root, duplicates, wide);
  check<Node>(*root, duplicates, wide);
  check<Branch>(*root, duplicates, wide);
  check<Kept>(*root, duplicates, wide);
  check<std::vector<std::variant<Scalars, Bounded, Lists>>>(*root, duplicates, wide);
  return 0;
}
