// Fields: the header fields of an HTTP message, in the order they came or will be sent.
//
// FieldsView looks into the bytes of a message that was read; Fields owns what is going to be sent.
// Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/header_field.hpp"

namespace godwit::inline v0::http {

/// Names of fields do not distinguish case (ASCII).
inline bool same_name(std::string_view a, std::string_view b) noexcept {
  return same_header_name(a, b);
}
/// A name: one or more of the characters RFC 9110 calls tchar.
GODWIT_API bool is_token(std::string_view text) noexcept;
/// A value that may be sent: no control character but a tab, and no space around it.
GODWIT_API bool is_field_value(std::string_view text) noexcept;

using Field = HeaderField;

/// Fields of a message that was read. The views live as long as the message.
class GODWIT_API FieldsView {
 public:
  FieldsView() = default;
  explicit FieldsView(std::span<const Field> fields) noexcept : fields_(fields) {}

  /// The value of the first field of this name.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// The value of the field of this name; nothing if there is none, or more than one.
  std::optional<std::string_view> only(std::string_view name) const noexcept;
  std::size_t count(std::string_view name) const noexcept;
  /// True if a comma-separated list, in any of the fields of this name, has this member (ASCII
  /// case-insensitive, parameters after ';' are not looked at): for Connection, Accept.
  bool lists(std::string_view name, std::string_view member) const noexcept {
    return which_listed(name, {member}) != 0;
  }
  /// The same for several members at once, at most 32: bit i is set if the i-th is in the list.
  std::uint32_t which_listed(std::string_view name,
                             std::initializer_list<std::string_view> members) const noexcept;

  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }
  std::size_t size() const noexcept { return fields_.size(); }
  std::span<const Field> all() const noexcept { return fields_; }

 private:
  std::span<const Field> fields_{};
};

/// Fields to be sent.
class GODWIT_API Fields {
 public:
  Fields() = default;
  Fields(std::initializer_list<Field> fields) {
    for (const Field& field : fields) add(field.name, field.value);
  }

  /// Adds one more. Throws std::invalid_argument for a name that is no token or a value that would
  /// break the message apart: what comes from outside is checked with is_field_value() before.
  Fields& add(std::string_view name, std::string_view value);
  /// Replaces all of this name.
  Fields& set(std::string_view name, std::string_view value);
  Fields& remove(std::string_view name);
  std::optional<std::string_view> find(std::string_view name) const noexcept;

  bool empty() const noexcept { return fields_.empty(); }
  std::size_t size() const noexcept { return fields_.size(); }
  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }

  /// Appends "Name: value\r\n" for each.
  void write(std::string& out) const;

  bool operator==(const Fields&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace godwit::inline v0::http
