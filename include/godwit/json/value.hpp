// Value: a JSON value that owns its parts and can be built and changed. Objects keep the order of
// their members; integers are exact over the whole range of int64 and uint64; an integer beyond
// that keeps its digits. For reading messages quickly use Document and View, or decode into
// structs.
//
//   json::Value v = json::Object{{"name", "godwit"}, {"legs", 2}, {"tags",
//   json::Array{"bird", 7.5}}}; v["home"]["country"] = "NZ"; int legs = v["legs"].get<int>();
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json {

class Value;
class Object;
using Array = std::vector<Value>;

/// Thrown when a Value is read or changed as something it is not.
class GODWIT_API TypeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DumpOptions {
  /// Spaces per level; 0 is compact, on one line.
  int indent = 0;
};

class GODWIT_API Value {
 public:
  Value() noexcept = default;
  Value(std::nullptr_t) noexcept {}
  template <std::same_as<bool> B>
  Value(B value) noexcept : kind_(Kind::boolean) {
    data_.boolean = value;
  }
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Value(I value) noexcept {
    if constexpr (std::signed_integral<I>) {
      kind_ = Kind::int64;
      data_.int64 = value;
    } else if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      kind_ = Kind::int64;
      data_.int64 = static_cast<std::int64_t>(value);
    } else {
      kind_ = Kind::uint64;
      data_.uint64 = value;
    }
  }
  Value(double value) noexcept : kind_(Kind::real) { data_.real = value; }
  Value(std::string text);
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(Array items);
  Value(Object members);
  /// A copy of what the view shows.
  explicit Value(View view);

  Value(const Value& other);
  Value(Value&& other) noexcept : kind_(other.kind_), data_(other.data_) {
    other.kind_ = Kind::null;
  }
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value() {
    if (kind_ >= Kind::string) destroy();
  }

  /// An integer of any size from its digits, e.g. "-123456789012345678901234567890". Throws
  /// TypeError if the text is not a JSON integer.
  static Value integer(std::string_view digits);

  Type type() const noexcept;
  bool is_null() const noexcept { return kind_ == Kind::null; }
  bool is_bool() const noexcept { return kind_ == Kind::boolean; }
  bool is_number() const noexcept { return type() == Type::number; }
  /// A number held as a double.
  bool is_real() const noexcept { return kind_ == Kind::real; }
  /// A number with a whole value, however it is written.
  bool is_integer() const noexcept;
  bool is_string() const noexcept { return kind_ == Kind::string; }
  bool is_array() const noexcept { return kind_ == Kind::array; }
  bool is_object() const noexcept { return kind_ == Kind::object; }

  std::optional<bool> as_bool() const noexcept;
  std::optional<std::int64_t> as_int64() const noexcept;
  std::optional<std::uint64_t> as_uint64() const noexcept;
  /// Any number; one beyond 64 bits is rounded, and nothing if it is beyond the doubles too.
  std::optional<double> as_double() const noexcept;
  std::optional<std::string_view> as_string() const noexcept;
  /// The parts, or nullptr if it is something else.
  const Array* as_array() const noexcept;
  Array* as_array() noexcept;
  const Object* as_object() const noexcept;
  Object* as_object() noexcept;
  /// The digits of an integer beyond 64 bits; empty for everything else.
  std::string_view big_integer() const noexcept;

  /// The value as a T: bool, numbers (range-checked), strings, or anything decode<T>() knows
  /// (include godwit/json/decode.hpp for those). Throws TypeError with a sentence if it does not
  /// fit.
  template <class T>
  T get() const;

  /// Items or members; 0 for everything else.
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }

  /// Reading: the member or item, or a null Value if it is not there.
  const Value& operator[](std::string_view key) const noexcept;
  const Value& operator[](const char* key) const noexcept { return (*this)[std::string_view(key)]; }
  template <std::integral I>
  const Value& operator[](I position) const noexcept {
    return item(static_cast<std::size_t>(position));
  }
  /// Writing: the member, made if it is not there; null becomes an object. Throws TypeError on
  /// other types.
  Value& operator[](std::string_view key);
  Value& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  /// Writing: an item that exists. Throws TypeError if it does not.
  template <std::integral I>
  Value& operator[](I position) {
    return item(static_cast<std::size_t>(position));
  }

  bool contains(std::string_view key) const noexcept;
  /// Appends an item; null becomes an array. Throws TypeError on other types.
  void push_back(Value item);
  /// Removes a member; true if it was there.
  bool erase(std::string_view key);

  /// JSON Pointer (RFC 6901): "/a/0/b~1c"; "" is the value itself. nullptr if nothing is there.
  const Value* pointer(std::string_view path) const;
  Value* pointer(std::string_view path);

  /// JSON text. NaN and infinities, which JSON does not have, become null; invalid UTF-8 becomes
  /// U+FFFD.
  std::string dump(DumpOptions options = {}) const;

  /// Equal as JSON: members in any order, numbers by value (1 equals 1.0).
  GODWIT_API friend bool operator==(const Value& a, const Value& b);

 private:
  enum class Kind : std::uint8_t { null, boolean, int64, uint64, real, string, big, array, object };
  union Data {
    bool boolean;
    std::int64_t int64 = 0;
    std::uint64_t uint64;
    double real;
    std::string* text;
    Array* array;
    Object* object;
  };
  void destroy() noexcept;
  const Value& item(std::size_t position) const noexcept;
  Value& item(std::size_t position);

  Kind kind_ = Kind::null;
  Data data_{};
};

struct Member {
  std::string key;
  Value value;

  friend bool operator==(const Member&, const Member&) = default;
};

/// Members in the order they were added. Looking up is a walk: objects are small. One with many
/// members is read faster by iterating. Adding a member moves the others, as in a std::vector:
/// write `v["b"] = json::Value(v["a"])`, with a copy, where "b" may be new.
class GODWIT_API Object {
 public:
  Object() = default;
  /// Later members of the same name win.
  Object(std::initializer_list<Member> members);

  const Value* find(std::string_view key) const noexcept;
  Value* find(std::string_view key) noexcept;
  bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// The member's value, made as null if it is not there.
  Value& operator[](std::string_view key);
  /// Sets or replaces.
  void set(std::string key, Value value);
  /// Adds a member without looking whether there is one of that name, which there must not be.
  void append(std::string key, Value value);
  bool erase(std::string_view key);

  std::size_t size() const noexcept { return members_.size(); }
  bool empty() const noexcept { return members_.empty(); }
  auto begin() const noexcept { return members_.begin(); }
  auto end() const noexcept { return members_.end(); }
  auto begin() noexcept { return members_.begin(); }
  auto end() noexcept { return members_.end(); }

  /// Equal as JSON: in any order.
  GODWIT_API friend bool operator==(const Object& a, const Object& b);

 private:
  friend class Value;
  std::vector<Member> members_;
};

/// Parses the text into a Value. The error names line, column and byte.
GODWIT_API Result<Value> parse(std::string_view text, const ParseOptions& options = {});

namespace detail {
/// Decodes anything else; defined in godwit/json/decode.hpp.
template <class T>
T get_decoded(const Value& value);
[[noreturn]] GODWIT_API void throw_type_error(const Value& value, std::string_view expected);
}  // namespace detail

template <class T>
T Value::get() const {
  if constexpr (std::is_same_v<T, bool>) {
    if (auto v = as_bool()) return *v;
    detail::throw_type_error(*this, "a boolean");
  } else if constexpr (std::signed_integral<T>) {
    if (auto v = as_int64(); v && std::in_range<T>(*v)) return static_cast<T>(*v);
    detail::throw_type_error(*this, "an integer in range");
  } else if constexpr (std::unsigned_integral<T>) {
    if (auto v = as_uint64(); v && std::in_range<T>(*v)) return static_cast<T>(*v);
    detail::throw_type_error(*this, "an unsigned integer in range");
  } else if constexpr (std::floating_point<T>) {
    // Written so that NaN and infinities, which only a Value built here can hold, pass.
    constexpr double largest = static_cast<double>(
        std::min<long double>(std::numeric_limits<T>::max(), std::numeric_limits<double>::max()));
    if (auto v = as_double(); v && !(std::abs(*v) > largest && std::isfinite(*v))) {
      return static_cast<T>(*v);
    }
    detail::throw_type_error(*this, "a number in range");
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    if (auto v = as_string()) return T(*v);
    detail::throw_type_error(*this, "a string");
  } else if constexpr (std::is_same_v<T, Value>) {
    return *this;
  } else {
    return detail::get_decoded<T>(*this);
  }
}

}  // namespace godwit::inline v0::json
