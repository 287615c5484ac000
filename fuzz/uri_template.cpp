// The first line is a template, the rest a URI. What is matched has valid names and values,
// expands, and, where expanding is the exact reverse, matches again with the same values.
#include "godwit/mcp/uri_template.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mcp/uri_units.hpp"

namespace {

void check(bool good) {
  if (!good) std::abort();
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = godwit::uri::code_point(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(0, line);
  const std::string_view uri = input.substr(std::min(line + 1, size));

  const auto parsed = godwit::UriTemplate::parse(text);
  if (!parsed) {
    check(parsed.error().message.starts_with("URI template: "));
    return 0;
  }
  check(parsed->text() == text);
  const auto& names = parsed->variables();
  check(names.size() <= godwit::UriTemplate::max_variables);

  // Any value in every place.
  godwit::json::Object same;
  for (const std::string& name : names) same.set(name, "a/\xc3\xa9 %41");
  const auto filled = parsed->expand(same);
  check(filled.has_value());
  check(filled->find_first_of(" {}\xc3") == std::string::npos);

  const auto values = parsed->match(uri);
  if (!values) return 0;
  godwit::json::Object object;
  for (const auto& [name, value] : *values) {
    check(std::find(names.begin(), names.end(), name) != names.end());
    check(valid_utf8(value));
    object.set(name, value);
  }
  const auto back = parsed->expand(object);
  check(back.has_value());
  // Not of {+a}, lists, and lengths, which say less about the URI than it says itself.
  if (text.find_first_of("+#*:") != std::string_view::npos) return 0;
  check(parsed->match(*back) == values);
  return 0;
}
