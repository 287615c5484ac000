#include "godwit/rpc/id.hpp"

namespace godwit::inline v0::rpc {

std::optional<Id> Id::from(json::View view) {
  if (!view) return std::nullopt;
  Id id;
  if (view.is_null()) return id;
  if (const auto text = view.as_string()) {
    id.value_ = std::string(*text);
    return id;
  }
  if (!view.is_number()) return std::nullopt;
  // 1.0 and 1 are the same number but not the same text; the peer gets back what it sent.
  if (const auto whole = view.is_real() ? std::nullopt : view.as_int64()) {
    id.value_ = *whole;
  } else {
    id.value_ = NumberText{std::string(view.source())};
  }
  return id;
}

void Id::set_large(std::uint64_t number) { value_ = NumberText{std::to_string(number)}; }

std::optional<std::int64_t> Id::integer() const noexcept {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return *number;
  return std::nullopt;
}

std::optional<std::string_view> Id::string() const noexcept {
  if (const auto* text = std::get_if<std::string>(&value_)) return std::string_view(*text);
  return std::nullopt;
}

void Id::write(json::Writer& writer) const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) {
    writer.value(*number);
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    writer.value(*text);
  } else if (const auto* digits = std::get_if<NumberText>(&value_)) {
    writer.raw(digits->text);
  } else {
    writer.null();
  }
}

std::string Id::text() const {
  std::string out;
  json::Writer writer(out);
  write(writer);
  return out;
}

std::size_t Id::hash() const noexcept {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) {
    return std::hash<std::int64_t>{}(*number);
  }
  if (const auto* text = std::get_if<std::string>(&value_)) return std::hash<std::string>{}(*text);
  if (const auto* digits = std::get_if<NumberText>(&value_)) {
    return std::hash<std::string>{}(digits->text);
  }
  return 0;
}

void write_id(json::Writer& writer, json::View id) {
  if (!id || id.is_null()) {
    writer.null();
  } else if (const auto text = id.as_string()) {
    writer.value(*text);
  } else if (const auto whole = id.is_real() ? std::nullopt : id.as_int64()) {
    writer.value(*whole);
  } else {
    writer.raw(id.source());
  }
}

}  // namespace godwit::inline v0::rpc
