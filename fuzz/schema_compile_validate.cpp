// Compiles the first line of the input as a schema and validates what follows it. The first byte
// chooses the options. Whatever comes in: no crash, no hang, and all ways to ask agree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "godwit/json/document.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/value.hpp"

using namespace godwit::json;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const unsigned flags = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = text.find('\n');
  const auto schema_value = parse(text.substr(0, end));
  if (!schema_value) return 0;

  SchemaOptions options;
  options.draft = (flags & 1) != 0 ? Draft::draft7 : Draft::draft2020_12;
  options.assert_formats = (flags & 2) != 0;
  options.trusted = (flags & 4) == 0;
  options.steps = 20'000;  // enough to reach everything, and quick
  options.pattern_bytes = 4u << 20;
  if ((flags & 8) != 0) options.documents.emplace_back("http://example.org/self", *schema_value);
  const auto schema = Schema::compile(*schema_value, options);
  if (!schema) {
    require(!schema.error().message.empty());
    return 0;
  }
  require(!options.trusted || schema->warnings().empty());

  const std::string_view instance =
      end == std::string_view::npos ? std::string_view("{}") : text.substr(end + 1);
  Document document;
  // A member that occurs twice is checked twice in a View and is gone from a Value.
  const auto view = document.parse(instance, {.refuse_duplicates = true});
  if (!view) return 0;
  const Validation result = schema->validate(*view);
  require(result.ok() == schema->valid(*view));
  require(result.ok() == schema->valid(Value(*view)));
  require(result.ok() == result.text().empty());
  require(result.violations().size() <= options.violations);
  return 0;
}
