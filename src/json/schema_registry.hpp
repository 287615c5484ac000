// Where the subschemas of all documents are, and what URIs and anchors lead to them. Reads a
// document when something first refers to it; nothing is ever fetched. Used while compiling only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::json::detail {

/// Groups of keywords that a metaschema switches on; one bit each.
enum Vocabulary : std::uint8_t {
  core = 1,
  applicator = 2,
  unevaluated = 4,
  validation = 8,
  format_remark = 16,
  format_assertion = 32,
  standard = core | applicator | unevaluated | validation | format_remark,
};

struct Dialect {
  Draft draft = Draft::draft2020_12;
  std::uint8_t vocabularies = standard;

  bool draft7() const noexcept { return draft == Draft::draft7; }
  bool has(Vocabulary vocabulary) const noexcept { return (vocabularies & vocabulary) != 0; }
};

/// How subschemas lie in the value of a keyword.
enum class Shape : std::uint8_t { none, schema, list, map, schema_or_list, map_of_schema_or_names };

struct Keyword {
  std::string_view name;
  Vocabulary vocabulary;
  bool in_draft7;
  bool in_2020_12;
  Shape shape;
};

/// The keyword if the dialect has it.
const Keyword* find_keyword(std::string_view name, const Dialect& dialect) noexcept;

class SchemaRegistry {
 public:
  struct Resource {
    std::string uri;
    Dialect dialect;
    const Value* root = nullptr;
    /// Plain-name fragments; true for $dynamicAnchor.
    std::unordered_map<std::string, std::pair<const Value*, bool>> anchors{};
  };
  /// One subschema.
  struct Place {
    const Value* schema = nullptr;
    std::uint32_t resource = 0;
    std::uint32_t document = 0;
    /// JSON Pointer from the root of its document.
    std::string pointer;
    std::size_t depth = 0;
  };

  explicit SchemaRegistry(const SchemaOptions& options) : options_(options) {}

  /// Reads the schema that is compiled; first of all, once.
  Result<const Place*> add_main(const Value& schema);

  struct Target {
    const Place* place = nullptr;
    /// The name, if the reference led to a $dynamicAnchor by it.
    std::optional<std::string> dynamic_name{};
  };
  /// What a $ref or $dynamicRef in this place leads to.
  Result<Target> resolve(const Place& from, std::string_view reference);

  /// The place of a subschema that was read; nullptr if it was not.
  const Place* find(const Value& schema) const;

  const Resource& resource(std::uint32_t index) const { return resources_[index]; }
  std::uint32_t resource_count() const { return static_cast<std::uint32_t>(resources_.size()); }
  const Dialect& dialect(const Place& place) const { return resources_[place.resource].dialect; }
  /// For people: the pointer, after its URI if it is not in the main schema.
  std::string location(const Place& place) const;

 private:
  struct Source {
    std::string uri;
    const Value* value = nullptr;
    bool read = false;
    /// Why reading it failed.
    std::optional<Error> failure{};
  };

  Result<void> read_document(const std::string& uri, const Value& value);
  /// False if there is no such document.
  Result<bool> load(const std::string& uri);
  void load_all();
  Result<void> scan(const Value& schema, std::uint32_t resource, std::uint32_t document,
                    std::string pointer, std::size_t depth);
  Result<void> scan_keyword(const Keyword& keyword, const Value& value, const Place& at);
  Result<std::uint32_t> identify(const Object& schema, const Value& value, std::uint32_t parent);
  Result<Dialect> dialect_of(std::string_view uri, int chain);
  Result<Dialect> vocabularies_of(const Object& metaschema, Dialect dialect);
  Result<const Place*> follow(const Place& root, const std::string& pointer);
  const Value* find_source(std::string_view uri);

  const SchemaOptions& options_;
  std::deque<Resource> resources_;
  std::unordered_map<std::string, std::uint32_t> by_uri_;
  std::unordered_map<const Value*, Place> places_;
  /// Document number and pointer, to find "#/$defs/x" without walking.
  std::unordered_map<std::string, const Value*> by_pointer_;
  std::vector<std::string> documents_;
  std::vector<Source> sources_;
  bool sources_ready_ = false;
  std::deque<Value> metaschemas_;
};

}  // namespace godwit::inline v0::json::detail
