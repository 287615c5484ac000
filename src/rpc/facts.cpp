#include "godwit/rpc/facts.hpp"

#include <string>
#include <vector>

namespace godwit::inline v0::rpc {

namespace {

/// Facts with their text.
struct Kept {
  std::string text;
  std::vector<HeaderField> fields;
  Facts facts;
};

}  // namespace

bool HeaderFields::is_secret(std::string_view name) noexcept {
  switch (name.size()) {
    case 4:
      return same_header_name(name, "DPoP");
    case 6:
      return same_header_name(name, "Cookie");
    case 13:
      return same_header_name(name, "Authorization");
    case 19:
      return same_header_name(name, "Proxy-Authorization");
    default:
      return false;
  }
}

std::optional<std::string_view> HeaderFields::find(std::string_view name) const noexcept {
  if (is_secret(name)) return std::nullopt;
  std::optional<std::string_view> found;
  for (const HeaderField& field : fields_) {
    if (field.name.size() != name.size() || !same_header_name(field.name, name)) continue;
    if (found) return std::nullopt;
    found = field.value;
  }
  return found;
}

std::shared_ptr<const Facts> keep(const Facts& facts) {
  std::size_t size = facts.peer.size() + facts.local.size();
  std::size_t count = 0;
  facts.fields.for_each([&](const HeaderField& field) {
    size += field.name.size() + field.value.size();
    ++count;
  });
  const auto kept = std::make_shared<Kept>();
  kept->text.reserve(size);
  kept->fields.reserve(count);
  const auto copy = [&](std::string_view part) {
    const std::size_t at = kept->text.size();
    kept->text.append(part);
    return std::string_view(kept->text).substr(at);
  };
  facts.fields.for_each([&](const HeaderField& field) {
    const std::string_view name = copy(field.name);
    kept->fields.push_back({name, copy(field.value)});
  });
  kept->facts = {.identity = facts.identity,
                 .fields = HeaderFields(kept->fields),
                 .peer = copy(facts.peer),
                 .local = copy(facts.local),
                 .secure = facts.secure,
                 .certificate = facts.certificate,
                 .process = facts.process};
  return {kept, &kept->facts};
}

const Facts& no_facts() noexcept {
  static const Facts none;
  return none;
}

}  // namespace godwit::inline v0::rpc
