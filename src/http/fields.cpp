#include "godwit/http/fields.hpp"

#include <stdexcept>

#include "godwit/base/work.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

bool is_token(std::string_view text) noexcept {
  return !text.empty() && all_of_class(text, token_char);
}

bool is_field_value(std::string_view text) noexcept {
  return all_of_class(text, value_char | obs_text_char) && trim(text).size() == text.size();
}

std::optional<std::string_view> FieldsView::find(std::string_view name) const noexcept {
  godwit::detail::base::count_work(fields_.size() + 1);
  for (const Field& field : fields_)
    if (same_name(field.name, name)) return field.value;
  return std::nullopt;
}

std::optional<std::string_view> FieldsView::only(std::string_view name) const noexcept {
  godwit::detail::base::count_work(fields_.size() + 1);
  std::optional<std::string_view> found;
  for (const Field& field : fields_) {
    if (!same_name(field.name, name)) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found;
}

std::size_t FieldsView::count(std::string_view name) const noexcept {
  godwit::detail::base::count_work(fields_.size() + 1);
  std::size_t count = 0;
  for (const Field& field : fields_) count += same_name(field.name, name) ? 1u : 0u;
  return count;
}

std::uint32_t FieldsView::which_listed(
    std::string_view name, std::initializer_list<std::string_view> members) const noexcept {
  std::uint32_t listed = 0;
  for (const Field& field : fields_) {
    godwit::detail::base::count_work(1);
    if (!same_name(field.name, name)) continue;
    godwit::detail::base::count_work(field.value.size());
    for (std::string_view list = field.value; !list.empty();) {
      std::string_view one = next_member(list);
      one = trim(one.substr(0, one.find(';')));
      std::uint32_t bit = 1;
      for (const std::string_view member : members) {
        if (same_name(one, member)) listed |= bit;
        bit <<= 1;
      }
    }
  }
  return listed;
}

Fields& Fields::add(std::string_view name, std::string_view value) {
  if (!is_token(name))
    throw std::invalid_argument("godwit: " + shown(name) + " is no name of a header field");
  if (!is_field_value(value)) {
    throw std::invalid_argument("godwit: " + shown(value) + " is no value for the header field " +
                                shown(name));
  }
  fields_.emplace_back(name, value);
  return *this;
}

Fields& Fields::set(std::string_view name, std::string_view value) {
  Fields fresh;
  fresh.add(name, value);  // before anything is gone: the views may look into this
  remove(fresh.fields_[0].first);
  fields_.push_back(std::move(fresh.fields_[0]));
  return *this;
}

Fields& Fields::remove(std::string_view name) {
  const std::string own(name);  // the view may look into what is removed
  std::erase_if(fields_, [&](const auto& field) { return same_name(field.first, own); });
  return *this;
}

std::optional<std::string_view> Fields::find(std::string_view name) const noexcept {
  for (const auto& [own, value] : fields_)
    if (same_name(own, name)) return value;
  return std::nullopt;
}

void Fields::write(std::string& out) const {
  for (const auto& [name, value] : fields_) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
}

}  // namespace godwit::inline v0::http
