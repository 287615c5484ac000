// Content: what tools answer with and prompts are made of. Plain values with the names of the wire;
// the functions at the end make the common ones.
//
//   return text("sunny");   return image(png_bytes, "image/png");   return std::vector<Content>{…};
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/base/base64.hpp"
#include "godwit/base/export.hpp"
#include "godwit/json/literal.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/implementation.hpp"

namespace godwit::inline v0 {

enum class Role : std::uint8_t { user, assistant };

/// Hints for whoever shows it. Untrusted when received.
struct Annotations {
  std::optional<std::vector<Role>> audience{};
  /// 0 (may be left out) to 1 (needed).
  std::optional<double> priority{};
  /// ISO 8601.
  std::optional<std::string> lastModified{};

  bool operator==(const Annotations&) const = default;
};

struct TextContent {
  json::Literal<"text"> type{};
  std::string text{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const TextContent&) const = default;
};

/// `data` is base64.
struct ImageContent {
  json::Literal<"image"> type{};
  std::string data{};
  std::string mimeType{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const ImageContent&) const = default;
};

/// `data` is base64.
struct AudioContent {
  json::Literal<"audio"> type{};
  std::string data{};
  std::string mimeType{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const AudioContent&) const = default;
};

/// A resource that can be read by its uri.
struct ResourceLink {
  json::Literal<"resource_link"> type{};
  std::string uri{};
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> mimeType{};
  std::optional<std::int64_t> size{};
  std::optional<std::vector<Icon>> icons{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const ResourceLink&) const = default;
};

/// What is in a resource: text, or (base64) bytes.
struct TextResourceContents {
  std::string uri{};
  std::optional<std::string> mimeType{};
  std::string text{};
  std::optional<json::Object> _meta{};

  bool operator==(const TextResourceContents&) const = default;
};
struct BlobResourceContents {
  std::string uri{};
  std::optional<std::string> mimeType{};
  std::string blob{};
  std::optional<json::Object> _meta{};

  bool operator==(const BlobResourceContents&) const = default;
};
using ResourceContents = std::variant<TextResourceContents, BlobResourceContents>;

/// The contents of a resource themselves.
struct EmbeddedResource {
  json::Literal<"resource"> type{};
  ResourceContents resource{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const EmbeddedResource&) const = default;
};

using Content =
    std::variant<TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource>;

inline TextContent text(std::string text) { return {.text = std::move(text)}; }
/// From bytes, not from base64.
inline ImageContent image(std::string_view bytes, std::string mime_type) {
  return {.data = base64(bytes), .mimeType = std::move(mime_type)};
}
inline AudioContent audio(std::string_view bytes, std::string mime_type) {
  return {.data = base64(bytes), .mimeType = std::move(mime_type)};
}
inline ResourceLink link(std::string uri, std::string name) {
  return {.uri = std::move(uri), .name = std::move(name)};
}
inline EmbeddedResource embed(ResourceContents contents) {
  return {.resource = std::move(contents)};
}

}  // namespace godwit::inline v0
