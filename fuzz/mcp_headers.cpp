// The fields of a stateless request against its body: what is encoded is read back, what is read is
// refused or agrees, and a schema's marks never lead anywhere but to its properties.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"
#include "mcp/era/stateless_headers.hpp"

namespace {

namespace mcp = godwit::mcp;
namespace json = godwit::json;

void check(bool holds) {
  if (!holds) std::abort();
}

/// Header fields with their text.
struct Fields {
  std::map<std::string, std::string, std::less<>> all;
  std::vector<godwit::HeaderField> views;

  godwit::rpc::HeaderFields view() {
    views.clear();
    for (const auto& [name, value] : all) views.push_back({name, value});
    return godwit::rpc::HeaderFields(views);
  }
};

bool is_sendable(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return !text.starts_with(' ') && !text.ends_with(' ');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t half = input.find('\0');
  const std::string first(input.substr(0, half));
  const std::string second(half == input.npos ? std::string_view() : input.substr(half + 1));

  const std::string field = mcp::header_value(first);
  check(is_sendable(field));
  check(mcp::read_header_value(field) == first);
  static_cast<void>(mcp::read_header_value(second));

  json::Document schema;
  json::Document arguments;
  const auto root = schema.parse(first);
  const auto values = arguments.parse(second);
  if (!root || !values) return 0;
  const auto headers = mcp::param_headers(*root);
  if (!headers) return 0;
  Fields fields;
  for (const mcp::ParamHeader& header : *headers) {
    check(!header.path.empty() && !header.name.empty());
    if (const auto value = mcp::param_value(header, *values)) {
      fields.all[std::string(mcp::header::param) + header.name] = mcp::header_value(*value);
    }
  }
  // What a client of ours would send, a server of ours takes.
  check(!mcp::check_params(fields.view(), *headers, *values));
  for (auto& [name, value] : fields.all) {
    const std::string good = value;
    value += "x";
    // The mark of Base64 is only one with its end.
    if (mcp::read_header_value(value) != mcp::read_header_value(good)) {
      check(mcp::check_params(fields.view(), *headers, *values).has_value());
    }
    value = good;
  }
  return 0;
}
