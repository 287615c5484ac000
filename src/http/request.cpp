#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

std::string_view media_type(std::string_view content_type) noexcept {
  std::string_view name = content_type.substr(0, content_type.find(';'));
  while (name.ends_with(' ') || name.ends_with('\t')) name.remove_suffix(1);
  return name;
}

bool Request::is_at(std::string_view wanted) const noexcept {
  const std::string_view at = path();
  if (at == wanted) return true;
  return at.size() == wanted.size() + 1 && at.ends_with('/') && at.starts_with(wanted);
}

bool Request::is_type(std::string_view type) const noexcept {
  const auto said = fields.only("Content-Type");
  return said && same_name(media_type(*said), type);
}

}  // namespace godwit::inline v0::http
