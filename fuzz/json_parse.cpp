// Fuzzes reading and writing of JSON text. What must hold:
// - Document takes exactly what simdjson's DOM takes, changed by the decisions of docs/json.md:
//   integers of any size are taken; a byte order mark, nesting beyond the limit and over-long
//   numbers are not.
// - The strict parser takes the same texts and gives the same values.
// - What was read can be written and read again as an equal value, from a Value and from a View.
// - The source of every node, asked for in any order, reads as an equal value.
// - The bounds of ParseOptions refuse exactly the documents that break them.
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"
#include "json/strict_parser.hpp"

#ifdef NDEBUG
#error "fuzz without NDEBUG, so that the assertions of all libraries count"
#endif

namespace {

namespace json = godwit::json;

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

/// The text as simdjson should judge it, and what it does not bound. Reads tokens, not grammar:
/// from the first byte that is no token on, the text is not JSON anyway.
struct Model {
  std::string text{};
  std::size_t depth = 0;
  std::size_t longest_number = 0;

  explicit Model(std::string_view source) {
    std::size_t open = 0;
    for (std::size_t i = 0; i < source.size();) {
      const char c = source[i];
      std::size_t end = i + 1;
      if (c == '"') {
        while (end < source.size() && source[end] != '"') end += source[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, source.size());
      } else if (c == '-' || (c >= '0' && c <= '9')) {
        end = source.find_first_not_of("0123456789+-.eE", i);
        if (end == std::string_view::npos) end = source.size();
        const std::string_view token = source.substr(i, end - i);
        longest_number = std::max(longest_number, token.size());
        if (is_integer(token) && token.size() > 18) {
          text += '7';  // any integer will do
          i = end;
          continue;
        }
      } else if (c == '[' || c == '{') {
        depth = std::max(depth, ++open);
      } else if ((c == ']' || c == '}') && open > 0) {
        --open;
      }
      text += source.substr(i, end - i);
      i = end;
    }
  }

  static bool is_integer(std::string_view token) {
    if (token.starts_with('-')) token.remove_prefix(1);
    return !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos &&
           (token == "0" || token[0] != '0');
  }

  bool accepts(const json::ParseOptions& options) const {
    if (text.starts_with("\xef\xbb\xbf")) return false;
    if (depth > options.depth || longest_number > options.number_chars) return false;
    static simdjson::dom::parser parser;
    return parser.parse(simdjson::padded_string(text)).error() == simdjson::SUCCESS;
  }
};

void collect(json::View view, std::vector<json::View>& nodes) {
  nodes.push_back(view);
  for (json::View item : view.items()) collect(item, nodes);
  for (const auto [key, value] : view.members()) collect(value, nodes);
}

json::Value reparsed(std::string_view text, std::size_t depth = 128) {
  auto value = json::parse(text, {.depth = depth});
  CHECK(value);
  return std::move(*value);
}

void check_error(std::string_view text, const json::ParseError& failure) {
  CHECK(!failure.message.empty());
  CHECK(failure.offset <= text.size());
  const std::string_view before = text.substr(0, failure.offset);
  std::size_t line = 1;
  std::size_t column = 1;
  for (const char c : before) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  CHECK(failure.line == line && failure.column == column);
  CHECK(failure.to_error().code == -32700);
  CHECK(json::parse(failure.to_error().data));
}

void check_bounds(std::string_view text, const std::vector<json::View>& nodes) {
  json::ParseOptions options{
      .refuse_duplicates = text.size() % 2 == 0, .members = 2, .items = 3, .key_bytes = 4};
  bool within = true;
  for (const json::View node : nodes) {
    if (node.is_array()) within = within && node.size() <= options.items;
    if (!node.is_object()) continue;
    within = within && node.size() <= options.members;
    std::vector<std::string_view> names;
    for (const auto [key, value] : node.members()) {
      within = within && key.size() <= options.key_bytes;
      if (options.refuse_duplicates) {
        within = within && std::find(names.begin(), names.end(), key) == names.end();
      }
      names.push_back(key);
    }
  }
  json::Document bounded;
  CHECK(bounded.parse(text, options).has_value() == within);
  if (!within) check_error(text, bounded.failure());
}

void check_good(std::string_view text, json::View root) {
  const json::Value value(root);

  std::string written;
  json::Writer writer(written);
  writer.value(root);
  CHECK(!writer.lossy());
  CHECK(reparsed(written) == value);

  const std::string dumped = value.dump();
  CHECK(reparsed(dumped) == value);
  CHECK(reparsed(dumped).dump() == dumped);
  const std::string indented = value.dump({.indent = 2});
  CHECK(reparsed(indented).dump() == dumped);
  CHECK(json::Value(value) == value);

  // An integer -0 sends the whole text through the strict parser.
  const json::Value both = reparsed("[" + std::string(text) + ",-0]", 129);
  CHECK(both[0] == value && both[0].dump() == dumped);

  std::vector<json::View> nodes;
  collect(root, nodes);
  if (text.size() <= 2048) {
    // Forward, backward, and jumping about.
    for (const json::View node : nodes) CHECK(reparsed(node.source()) == json::Value(node));
    std::vector<std::string_view> slices;
    for (const json::View node : nodes) slices.push_back(node.source());
    for (std::size_t i = nodes.size(); i-- > 0;)
      CHECK(nodes[i].source().data() == slices[i].data());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t k = i * 7919 % nodes.size();
      CHECK(nodes[k].source() == slices[k]);
    }
  }
  check_bounds(text, nodes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static json::Document document;  // reused, as a connection does
  const json::ParseOptions options;
  const bool good = document.parse(text, options).has_value();

  CHECK(Model(text).accepts(options) == good);

  json::detail::StrictTape tape;
  const auto error = json::detail::parse_strict(text, options, tape);
  CHECK(good == !error);

  // In place, with bytes behind the text that would change it.
  std::string padded(text);
  padded.append(json::Document::padding, '1');
  json::Document in_place;
  CHECK(in_place.parse(std::string_view(padded).substr(0, size), options, json::Document::padding)
            .has_value() == good);
  CHECK(in_place.failure() == document.failure());

  if (good) {
    CHECK(json::Value(in_place.root()) == json::Value(document.root()));
    check_good(text, document.root());
  } else {
    check_error(text, document.failure());
    CHECK(document.failure() == *error);
  }

  // Any bytes can be written as a string: as they are, or repaired if they are not UTF-8.
  std::string quoted;
  json::Writer writer(quoted);
  writer.value(text);
  const json::Value string = reparsed(quoted);
  CHECK(writer.lossy() || string.get<std::string_view>() == text);
  CHECK(writer.lossy() == !simdjson::validate_utf8(text.data(), text.size()));
  return 0;
}
