// View: a read-only look at one value of a parsed Document. Sixteen bytes, copied freely, never
// owns. Valid until its Document parses again or is destroyed; the strings it gives live just as
// long.
//
// A Document is a tape of 64-bit words in document order, as simdjson writes it: a tag in the top
// byte and a payload below. Reading it here, inline, is what makes decoding cheap.
//
//   { [   payload: index after the matching close (low 32 bits), number of children (24 bits,
//         saturating)
//   "     payload: offset of the text: 4 bytes of length, then the bytes. Keys are strings too
//   l u d payload unused; the next word is the int64, uint64 or double
//   b     like ", the text of an integer beyond 64 bits (written by our own parser only)
//   t f n
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::json {

enum class Type : std::uint8_t { null, boolean, number, string, array, object };

/// "null", "boolean", "number", "string", "array", "object".
GODWIT_API std::string_view to_string(Type type) noexcept;

class DecodeFailure;
class Document;
class Members;
class Items;

namespace detail {

/// a == b for names: mostly short, mostly equal, so worth not calling memcmp for.
inline bool same_name(std::string_view a, std::string_view b) noexcept {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  const auto differ = [&]<class Word>(std::size_t at, Word) {
    Word x;
    Word y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    return x != y;
  };
  if (size >= 8) {
    std::size_t at = 0;
    for (; at + 8 < size; at += 8) {
      if (differ(at, std::uint64_t{})) return false;
    }
    return !differ(size - 8, std::uint64_t{});
  }
  if (size >= 4) return !differ(0, std::uint32_t{}) && !differ(size - 4, std::uint32_t{});
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Says of most names at once that they were not there before. For few names: it has 64 marks.
class NameFilter {
 public:
  bool maybe_seen(std::string_view name) noexcept {
    const std::size_t size = name.size();
    std::size_t mix = size;
    if (size > 0) {
      mix = mix * 7 + static_cast<unsigned char>(name[0]);
      mix = mix * 5 + static_cast<unsigned char>(name[size / 2]);
      mix = mix * 3 + static_cast<unsigned char>(name[size - 1]);
    }
    const std::uint64_t mark = std::uint64_t{1} << (mix & 63);
    const bool seen = (marks_ & mark) != 0;
    marks_ |= mark;
    return seen;
  }

 private:
  std::uint64_t marks_ = 0;
};

/// A value of the tape, and where it stands in the source.
struct Place {
  std::uint32_t word = 1;
  std::uint32_t offset = 0;
};

/// Where the words, the strings and the source of a Document are.
struct Tape {
  const std::uint64_t* words = nullptr;
  const char* strings = nullptr;
  std::string_view source{};
  /// For View::source(): the last place that was asked for, the bytes that were walked so far, and
  /// places at even distances once that was much.
  mutable Place known{};
  mutable std::size_t walked = 0;
  mutable std::vector<Place> places{};
};
}  // namespace detail

class GODWIT_API View {
 public:
  /// Absent: what find() gives for a member that is not there. Tests false; reads as null.
  View() = default;

  explicit operator bool() const noexcept { return tape_ != nullptr; }

  Type type() const noexcept {
    switch (tag()) {
      case '{':
        return Type::object;
      case '[':
        return Type::array;
      case '"':
        return Type::string;
      case 't':
      case 'f':
        return Type::boolean;
      case 'n':
        return Type::null;
      default:
        return Type::number;
    }
  }
  bool is_null() const noexcept { return tag() == 'n'; }
  bool is_object() const noexcept { return tag() == '{'; }
  bool is_array() const noexcept { return tag() == '['; }
  bool is_string() const noexcept { return tag() == '"'; }
  bool is_bool() const noexcept { return tag() == 't' || tag() == 'f'; }
  bool is_number() const noexcept { return type() == Type::number; }
  /// A number written with a fraction or an exponent.
  bool is_real() const noexcept { return tag() == 'd'; }
  /// A number beyond 64 bits, kept as its text.
  bool is_big_integer() const noexcept { return tag() == 'b'; }
  /// A number whose value is a whole one: 1, 1.0 and 1e2 all are.
  bool is_integer() const noexcept;

  std::optional<bool> as_bool() const noexcept {
    if (tag() == 't') return true;
    if (tag() == 'f') return false;
    return std::nullopt;
  }
  /// The exact value if it is whole and in range, also when written as 1.0 or 1e3.
  std::optional<std::int64_t> as_int64() const noexcept {
    std::int64_t value = 0;
    return get(value) ? std::optional(value) : std::nullopt;
  }
  std::optional<std::uint64_t> as_uint64() const noexcept {
    std::uint64_t value = 0;
    return get(value) ? std::optional(value) : std::nullopt;
  }
  /// Any number; one beyond 64 bits is rounded, and nothing if it is beyond the doubles too.
  std::optional<double> as_double() const noexcept {
    double value = 0;
    return get(value) ? std::optional(value) : std::nullopt;
  }
  std::optional<std::string_view> as_string() const noexcept {
    if (tag() != '"') return std::nullopt;
    return text_at(index_);
  }
  /// The same four without a std::optional around the value: g++ copies one as a block of 16 bytes
  /// right after writing its halves, which processors stall on. False leaves `out` alone.
  bool get(std::int64_t& out) const noexcept {
    if (tag() != 'l') return rare(out);
    out = static_cast<std::int64_t>(number_word());
    return true;
  }
  bool get(std::uint64_t& out) const noexcept {
    if (tag() != 'l' || static_cast<std::int64_t>(number_word()) < 0) return rare(out);
    out = number_word();
    return true;
  }
  bool get(double& out) const noexcept {
    if (tag() != 'd') return rare(out);
    out = std::bit_cast<double>(number_word());
    return true;
  }
  bool get(std::string_view& out) const noexcept {
    if (tag() != '"') return false;
    const std::string_view text = text_at(index_);
    out = std::string_view(text.data(), text.size());
    return true;
  }
  /// The digits of a number beyond 64 bits; empty for everything else.
  std::string_view big_integer() const noexcept {
    return tag() == 'b' ? text_at(index_) : std::string_view();
  }

  /// How many members or items; 0 for everything else.
  std::size_t size() const noexcept;
  /// How much of the document this is, parts included: at least one per value.
  std::size_t weight() const noexcept { return tape_ ? after() - index_ : 0; }
  /// The members of an object in order; none for everything else.
  Members members() const noexcept;
  /// The items of an array in order; none for everything else.
  Items items() const noexcept;
  /// The last member of this name (byte for byte), or an absent View.
  View find(std::string_view key) const noexcept;
  /// An item by position, or an absent View.
  View at(std::size_t position) const noexcept;

  /// A name that occurs twice in this object, if any.
  std::optional<std::string_view> duplicate_key() const;

  /// The bytes this value was written with. Walks the source from the last place asked for; who
  /// often asks for earlier ones makes it remember places. Either way the cost is linear in the
  /// document and in what is asked for. Not for several threads at once.
  std::string_view source() const;
  /// The same, adding to `walked` the bytes that were looked at.
  std::string_view source(std::size_t& walked) const;

 private:
  friend class DecodeFailure;
  friend class Document;
  friend class Members;
  friend class Items;
  View(const detail::Tape* tape, std::uint32_t index) noexcept : tape_(tape), index_(index) {}

  bool rare(std::int64_t& out) const noexcept;
  bool rare(std::uint64_t& out) const noexcept;
  bool rare(double& out) const noexcept;

  char tag() const noexcept { return tape_ ? static_cast<char>(tape_->words[index_] >> 56) : 'n'; }
  std::uint64_t payload() const noexcept { return tape_->words[index_] & 0x00ff'ffff'ffff'ffffull; }
  std::uint64_t number_word() const noexcept { return tape_->words[index_ + 1]; }
  std::string_view text_at(std::uint32_t index) const noexcept {
    const char* at = tape_->strings + (tape_->words[index] & 0x00ff'ffff'ffff'ffffull);
    std::uint32_t length;
    std::memcpy(&length, at, sizeof length);
    return {at + sizeof length, length};
  }
  /// Index of what follows this value.
  std::uint32_t after() const noexcept {
    const std::uint64_t word = tape_->words[index_];
    const char kind = static_cast<char>(word >> 56);
    if (kind == '{' || kind == '[') return static_cast<std::uint32_t>(word);
    const bool two_words = kind == 'l' || kind == 'd' || kind == 'u';
    return index_ + (two_words ? 2 : 1);
  }

  const detail::Tape* tape_ = nullptr;
  std::uint32_t index_ = 0;
};

struct MemberView {
  std::string_view key;
  View value;
};

/// Range over the members of an object.
class Members {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = MemberView;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = MemberView;

    Iterator() = default;
    explicit Iterator(View key) noexcept : key_(key) {}
    MemberView operator*() const noexcept { return {key_.text_at(key_.index_), value()}; }
    Iterator& operator++() noexcept {
      key_.index_ = value().after();
      return *this;
    }
    void operator++(int) noexcept { ++*this; }
    bool operator==(const Iterator& other) const noexcept {
      return key_.index_ == other.key_.index_;
    }

   private:
    View value() const noexcept { return View(key_.tape_, key_.index_ + 1); }
    View key_;
  };

  Iterator begin() const noexcept { return Iterator(first_); }
  Iterator end() const noexcept { return Iterator(last_); }

 private:
  friend class View;
  Members(View first, View last) noexcept : first_(first), last_(last) {}
  View first_;
  View last_;
};

/// Range over the items of an array.
class Items {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = View;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = View;

    Iterator() = default;
    explicit Iterator(View item) noexcept : item_(item) {}
    View operator*() const noexcept { return item_; }
    Iterator& operator++() noexcept {
      item_.index_ = item_.after();
      return *this;
    }
    void operator++(int) noexcept { ++*this; }
    bool operator==(const Iterator& other) const noexcept {
      return item_.index_ == other.item_.index_;
    }

   private:
    View item_;
  };

  Iterator begin() const noexcept { return Iterator(first_); }
  Iterator end() const noexcept { return Iterator(last_); }

 private:
  friend class View;
  Items(View first, View last) noexcept : first_(first), last_(last) {}
  View first_;
  View last_;
};

inline Members View::members() const noexcept {
  if (tag() != '{') return {View(), View()};
  // The close bracket sits in the word before the one that follows the value.
  return {View(tape_, index_ + 1), View(tape_, after() - 1)};
}

inline Items View::items() const noexcept {
  if (tag() != '[') return {View(), View()};
  return {View(tape_, index_ + 1), View(tape_, after() - 1)};
}

}  // namespace godwit::inline v0::json
