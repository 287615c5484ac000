// Resources and templates of resources as the wire lists and reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/content.hpp"

namespace godwit::inline v0 {

struct Resource {
  std::string uri{};
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> mimeType{};
  /// Bytes before base64, if known.
  std::optional<std::int64_t> size{};
  std::optional<std::vector<Icon>> icons{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const Resource&) const = default;
};

struct ResourceTemplate {
  /// RFC 6570.
  std::string uriTemplate{};
  std::string name{};
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<std::string> mimeType{};
  std::optional<std::vector<Icon>> icons{};
  std::optional<Annotations> annotations{};
  std::optional<json::Object> _meta{};

  bool operator==(const ResourceTemplate&) const = default;
};

struct ReadResult {
  std::vector<ResourceContents> contents{};
  std::optional<json::Object> _meta{};

  bool operator==(const ReadResult&) const = default;
};

}  // namespace godwit::inline v0
