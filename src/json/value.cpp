#include "godwit/json/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "godwit/base/work.hpp"
#include "godwit/json/writer.hpp"
#include "number.hpp"

namespace godwit::inline v0::json {

namespace {

const Value& null_value() {
  static const Value null;
  return null;
}

bool is_json_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty() || (text[0] == '0' && text.size() > 1)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The tokens of a JSON Pointer one by one; false when the pointer is not one.
bool next_token(std::string_view& path, std::string& token) {
  if (path.empty() || path[0] != '/') return false;
  token.clear();
  std::size_t i = 1;
  for (; i < path.size() && path[i] != '/'; ++i) {
    if (path[i] != '~') {
      token.push_back(path[i]);
      continue;
    }
    ++i;
    if (i >= path.size() || (path[i] != '0' && path[i] != '1')) return false;
    token.push_back(path[i] == '0' ? '~' : '/');
  }
  path.remove_prefix(i);
  return true;
}

std::optional<std::size_t> array_index(std::string_view token) {
  std::size_t index = 0;
  if (token.empty() || (token[0] == '0' && token.size() > 1)) return std::nullopt;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

/// Drops all but the last member of each name and keeps the order of the first ones.
void keep_last(std::vector<Member>& members) {
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int by_key = members[a].key.compare(members[b].key);
    return by_key != 0 ? by_key < 0 : a < b;
  });
  std::vector<bool> drop(members.size());
  bool any = false;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i + 1;
    while (j < order.size() && members[order[j]].key == members[order[i]].key) ++j;
    if (j - i > 1) {
      any = true;
      members[order[i]].value = std::move(members[order[j - 1]].value);
      for (std::size_t k = i + 1; k < j; ++k) drop[order[k]] = true;
    }
    i = j;
  }
  if (!any) return;
  std::size_t to = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (drop[i]) continue;
    if (to != i) members[to] = std::move(members[i]);
    ++to;
  }
  members.resize(to);
}

}  // namespace

Value::Value(std::string text) : kind_(Kind::string) {
  data_.text = new std::string(std::move(text));
}
Value::Value(Array items) : kind_(Kind::array) { data_.array = new Array(std::move(items)); }
Value::Value(Object members) : kind_(Kind::object) {
  data_.object = new Object(std::move(members));
}

Value::Value(View view) {
  switch (view.type()) {
    case Type::null:
      return;
    case Type::boolean:
      *this = Value(*view.as_bool());
      return;
    case Type::string:
      *this = Value(*view.as_string());
      return;
    case Type::number:
      if (view.is_big_integer()) {
        kind_ = Kind::big;
        data_.text = new std::string(view.big_integer());
      } else if (view.is_real()) {
        *this = Value(*view.as_double());
      } else if (const auto whole = view.as_int64()) {
        *this = Value(*whole);
      } else {
        *this = Value(*view.as_uint64());
      }
      return;
    case Type::array: {
      Array items;
      items.reserve(view.size());
      for (View item : view.items()) items.emplace_back(item);
      *this = Value(std::move(items));
      return;
    }
    case Type::object: {
      Object members;
      members.members_.reserve(view.size());
      for (const auto [key, value] : view.members()) {
        members.members_.push_back({std::string(key), Value(value)});
      }
      if (view.duplicate_key()) keep_last(members.members_);
      *this = Value(std::move(members));
      return;
    }
  }
}

Value::Value(const Value& other) : kind_(other.kind_), data_(other.data_) {
  switch (kind_) {
    case Kind::string:
    case Kind::big:
      data_.text = new std::string(*other.data_.text);
      break;
    case Kind::array:
      data_.array = new Array(*other.data_.array);
      break;
    case Kind::object:
      data_.object = new Object(*other.data_.object);
      break;
    default:
      break;
  }
}

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  if (this != &other) {
    // What is assigned may be a part of this value: take it first, then let go of the rest.
    const Kind kind = std::exchange(other.kind_, Kind::null);
    const Data data = other.data_;
    destroy();
    kind_ = kind;
    data_ = data;
  }
  return *this;
}

void Value::destroy() noexcept {
  switch (kind_) {
    case Kind::string:
    case Kind::big:
      delete data_.text;
      break;
    case Kind::array:
      delete data_.array;
      break;
    case Kind::object:
      delete data_.object;
      break;
    default:
      break;
  }
  kind_ = Kind::null;
}

Value Value::integer(std::string_view digits) {
  if (!is_json_integer(digits)) {
    throw TypeError("godwit: " + quote(digits.substr(0, 40)) + " is not a JSON integer");
  }
  std::int64_t small = 0;
  std::uint64_t large = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, small).ec == std::errc()) return small;
  if (digits[0] != '-' && std::from_chars(digits.data(), end, large).ec == std::errc()) {
    return large;
  }
  Value value;
  value.kind_ = Kind::big;
  value.data_.text = new std::string(digits);
  return value;
}

Type Value::type() const noexcept {
  switch (kind_) {
    case Kind::null:
      return Type::null;
    case Kind::boolean:
      return Type::boolean;
    case Kind::string:
      return Type::string;
    case Kind::array:
      return Type::array;
    case Kind::object:
      return Type::object;
    default:
      return Type::number;
  }
}

bool Value::is_integer() const noexcept {
  switch (kind_) {
    case Kind::int64:
    case Kind::uint64:
    case Kind::big:
      return true;
    case Kind::real:
      return std::isfinite(data_.real) && std::trunc(data_.real) == data_.real;
    default:
      return false;
  }
}

std::optional<bool> Value::as_bool() const noexcept {
  if (kind_ != Kind::boolean) return std::nullopt;
  return data_.boolean;
}

std::optional<std::int64_t> Value::as_int64() const noexcept {
  if (kind_ == Kind::int64) return data_.int64;
  if (kind_ == Kind::real) return detail::whole_int64(data_.real);
  return std::nullopt;  // uint64 is used only beyond the range of int64
}

std::optional<std::uint64_t> Value::as_uint64() const noexcept {
  if (kind_ == Kind::uint64) return data_.uint64;
  if (kind_ == Kind::int64 && data_.int64 >= 0) return static_cast<std::uint64_t>(data_.int64);
  if (kind_ == Kind::real) return detail::whole_uint64(data_.real);
  return std::nullopt;
}

std::optional<double> Value::as_double() const noexcept {
  switch (kind_) {
    case Kind::int64:
      return static_cast<double>(data_.int64);
    case Kind::uint64:
      return static_cast<double>(data_.uint64);
    case Kind::real:
      return data_.real;
    case Kind::big:
      return detail::parse_double(*data_.text);
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> Value::as_string() const noexcept {
  if (kind_ != Kind::string) return std::nullopt;
  return std::string_view(*data_.text);
}

const Array* Value::as_array() const noexcept {
  return kind_ == Kind::array ? data_.array : nullptr;
}
Array* Value::as_array() noexcept { return kind_ == Kind::array ? data_.array : nullptr; }
const Object* Value::as_object() const noexcept {
  return kind_ == Kind::object ? data_.object : nullptr;
}
Object* Value::as_object() noexcept { return kind_ == Kind::object ? data_.object : nullptr; }

std::string_view Value::big_integer() const noexcept {
  return kind_ == Kind::big ? std::string_view(*data_.text) : std::string_view();
}

std::size_t Value::size() const noexcept {
  if (kind_ == Kind::array) return data_.array->size();
  if (kind_ == Kind::object) return data_.object->size();
  return 0;
}

const Value& Value::operator[](std::string_view key) const noexcept {
  const Value* found = kind_ == Kind::object ? std::as_const(*data_.object).find(key) : nullptr;
  return found ? *found : null_value();
}

const Value& Value::item(std::size_t position) const noexcept {
  if (kind_ != Kind::array || position >= data_.array->size()) return null_value();
  return (*data_.array)[position];
}

Value& Value::operator[](std::string_view key) {
  if (kind_ == Kind::null) *this = Value(Object());
  if (kind_ != Kind::object) detail::throw_type_error(*this, "an object");
  return (*data_.object)[key];
}

Value& Value::item(std::size_t position) {
  if (kind_ != Kind::array) detail::throw_type_error(*this, "an array");
  if (position >= data_.array->size()) {
    throw TypeError("godwit: there is no item " + std::to_string(position) + " in an array of " +
                    std::to_string(data_.array->size()));
  }
  return (*data_.array)[position];
}

bool Value::contains(std::string_view key) const noexcept {
  return kind_ == Kind::object && data_.object->contains(key);
}

void Value::push_back(Value item) {
  if (kind_ == Kind::null) *this = Value(Array());
  if (kind_ != Kind::array) detail::throw_type_error(*this, "an array");
  data_.array->push_back(std::move(item));
}

bool Value::erase(std::string_view key) {
  return kind_ == Kind::object && data_.object->erase(key);
}

const Value* Value::pointer(std::string_view path) const {
  const Value* at = this;
  std::string token;
  while (!path.empty()) {
    if (!next_token(path, token)) return nullptr;
    if (const Object* object = at->as_object()) {
      at = object->find(token);
    } else if (const Array* array = at->as_array()) {
      const auto index = array_index(token);
      at = index && *index < array->size() ? &(*array)[*index] : nullptr;
    } else {
      at = nullptr;
    }
    if (!at) return nullptr;
  }
  return at;
}

Value* Value::pointer(std::string_view path) {
  return const_cast<Value*>(std::as_const(*this).pointer(path));
}

std::string Value::dump(DumpOptions options) const {
  std::string out;
  Writer(out).value(*this);
  return options.indent > 0 ? pretty(out, options.indent) : out;
}

namespace {

/// All digits of a double with a whole value; something that is no integer for any other.
std::string whole_digits(double value) {
  char digits[400];  // the largest double has 309
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 0);
  return std::trunc(value) == value ? std::string(digits, end.ptr) : std::string();
}

/// Exact, with no rounding on the way: equality must stay transitive.
bool numbers_equal(const Value& a, const Value& b) {
  if (!a.big_integer().empty() || !b.big_integer().empty()) {
    if (!a.big_integer().empty() && !b.big_integer().empty()) {
      return a.big_integer() == b.big_integer();
    }
    // A 64-bit integer never equals one beyond 64 bits; a double may.
    const Value& big = a.big_integer().empty() ? b : a;
    const Value& other = a.big_integer().empty() ? a : b;
    return other.is_real() && big.big_integer() == whole_digits(*other.as_double());
  }
  if (a.is_real() && b.is_real()) return *a.as_double() == *b.as_double();
  if (const auto x = a.as_int64()) return x == b.as_int64();
  if (const auto x = a.as_uint64()) return x == b.as_uint64();
  return false;
}

}  // namespace

bool operator==(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::null:
      return true;
    case Type::boolean:
      return a.data_.boolean == b.data_.boolean;
    case Type::number:
      return numbers_equal(a, b);
    case Type::string:
      return *a.data_.text == *b.data_.text;
    case Type::array:
      return *a.data_.array == *b.data_.array;
    case Type::object:
      return *a.data_.object == *b.data_.object;
  }
  return false;
}

Object::Object(std::initializer_list<Member> members) {
  members_.reserve(members.size());
  for (const Member& member : members) set(member.key, member.value);
}

const Value* Object::find(std::string_view key) const noexcept {
  godwit::detail::base::count_work(members_.size() + 1);
  for (const Member& member : members_) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Value* Object::find(std::string_view key) noexcept {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Object::operator[](std::string_view key) {
  if (Value* found = find(key)) return *found;
  members_.push_back({std::string(key), Value()});
  return members_.back().value;
}

void Object::set(std::string key, Value value) {
  if (Value* found = find(key)) {
    *found = std::move(value);
  } else {
    members_.push_back({std::move(key), std::move(value)});
  }
}

void Object::append(std::string key, Value value) {
  members_.push_back({std::move(key), std::move(value)});
}

bool Object::erase(std::string_view key) {
  return std::erase_if(members_, [&](const Member& member) { return member.key == key; }) > 0;
}

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  constexpr std::size_t few = 16;
  if (a.size() <= few) {
    return std::all_of(a.begin(), a.end(), [&](const Member& member) {
      const Value* other = b.find(member.key);
      return other && *other == member.value;
    });
  }
  const auto sorted = [](const Object& object) {
    std::vector<const Member*> members;
    for (const Member& member : object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const Member* x, const Member* y) { return x->key < y->key; });
    return members;
  };
  const auto x = sorted(a);
  const auto y = sorted(b);
  return std::equal(x.begin(), x.end(), y.begin(),
                    [](const Member* m, const Member* n) { return *m == *n; });
}

Result<Value> parse(std::string_view text, const ParseOptions& options) {
  Document document;
  Result<View> root = document.parse(text, options);
  if (!root) return std::move(root).error();
  return Value(*root);
}

void detail::throw_type_error(const Value& value, std::string_view expected) {
  std::string got(to_string(value.type()));
  if (value.is_bool() || value.is_number() || value.is_string()) {
    got += " " + value.dump().substr(0, 60);
  }
  throw TypeError("godwit: expected " + std::string(expected) + ", got " + got);
}

}  // namespace godwit::inline v0::json
