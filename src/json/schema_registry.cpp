#include "schema_registry.hpp"

#include <algorithm>
#include <array>

#include "godwit/json/writer.hpp"
#include "schema_metaschemas.hpp"
#include "schema_program.hpp"
#include "schema_uri.hpp"

namespace godwit::inline v0::json::detail {

namespace {

constexpr std::string_view draft7_uri = "http://json-schema.org/draft-07/schema";
constexpr std::string_view draft2020_uri = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view vocabulary_prefix = "https://json-schema.org/draft/2020-12/vocab/";

constexpr std::array<Keyword, 49> keywords{{
    {"$defs", core, false, true, Shape::map},
    {"$dynamicRef", core, false, true, Shape::none},
    {"$ref", core, true, true, Shape::none},
    {"additionalItems", applicator, true, false, Shape::schema},
    {"additionalProperties", applicator, true, true, Shape::schema},
    {"allOf", applicator, true, true, Shape::list},
    {"anyOf", applicator, true, true, Shape::list},
    {"const", validation, true, true, Shape::none},
    {"contains", applicator, true, true, Shape::schema},
    // 2020-12 keeps these two for schemas that have not been rewritten yet.
    {"definitions", core, true, true, Shape::map},
    {"dependencies", applicator, true, true, Shape::map_of_schema_or_names},
    {"dependentRequired", validation, false, true, Shape::none},
    {"dependentSchemas", applicator, false, true, Shape::map},
    {"else", applicator, true, true, Shape::schema},
    {"enum", validation, true, true, Shape::none},
    {"exclusiveMaximum", validation, true, true, Shape::none},
    {"exclusiveMinimum", validation, true, true, Shape::none},
    {"format", core, true, true, Shape::none},
    {"if", applicator, true, true, Shape::schema},
    {"items", applicator, true, true, Shape::schema_or_list},
    {"maxContains", validation, false, true, Shape::none},
    {"maxItems", validation, true, true, Shape::none},
    {"maxLength", validation, true, true, Shape::none},
    {"maxProperties", validation, true, true, Shape::none},
    {"maximum", validation, true, true, Shape::none},
    {"minContains", validation, false, true, Shape::none},
    {"minItems", validation, true, true, Shape::none},
    {"minLength", validation, true, true, Shape::none},
    {"minProperties", validation, true, true, Shape::none},
    {"minimum", validation, true, true, Shape::none},
    {"multipleOf", validation, true, true, Shape::none},
    {"not", applicator, true, true, Shape::schema},
    {"oneOf", applicator, true, true, Shape::list},
    {"pattern", validation, true, true, Shape::none},
    {"patternProperties", applicator, true, true, Shape::map},
    {"prefixItems", applicator, false, true, Shape::list},
    {"properties", applicator, true, true, Shape::map},
    {"propertyNames", applicator, true, true, Shape::schema},
    {"required", validation, true, true, Shape::none},
    {"then", applicator, true, true, Shape::schema},
    {"type", validation, true, true, Shape::none},
    {"unevaluatedItems", unevaluated, false, true, Shape::schema},
    {"unevaluatedProperties", unevaluated, false, true, Shape::schema},
    {"uniqueItems", validation, true, true, Shape::none},
    // Strings that hold other content are not looked into; the schema for it still may be referred
    // to.
    {"contentSchema", core, false, true, Shape::schema},
    {"$anchor", core, false, true, Shape::none},
    {"$dynamicAnchor", core, false, true, Shape::none},
    {"$id", core, true, true, Shape::none},
    {"$schema", core, true, true, Shape::none},
}};

// Every subschema keeps the way to it and every reference is resolved against a URI: long ones
// would multiply.
constexpr std::size_t longest_pointer = 2'048;
constexpr std::size_t longest_uri = 2'048;

std::string without_fragment(std::string_view uri) {
  return std::string(split_fragment(uri).resource);
}

/// Roughly the bytes of its JSON text. Stops counting at the bound.
void add_size(const Value& value, std::size_t bound, std::size_t& size) {
  size += 4;
  if (size > bound) return;
  if (const auto text = value.as_string()) {
    size += text->size();
  } else if (const Array* items = value.as_array()) {
    for (const Value& item : *items) add_size(item, bound, size);
  } else if (const Object* members = value.as_object()) {
    for (const Member& member : *members) {
      size += member.key.size() + 4;
      add_size(member.value, bound, size);
    }
  }
}

}  // namespace

void append_pointer(std::string& pointer, std::string_view token) {
  pointer.push_back('/');
  for (char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer.push_back(c);
    }
  }
}

const Keyword* find_keyword(std::string_view name, const Dialect& dialect) noexcept {
  static const std::unordered_map<std::string_view, const Keyword*> table = [] {
    std::unordered_map<std::string_view, const Keyword*> result;
    for (const Keyword& keyword : keywords) result.emplace(keyword.name, &keyword);
    return result;
  }();
  const auto found = table.find(name);
  if (found == table.end()) return nullptr;
  const Keyword& keyword = *found->second;
  if (!(dialect.draft7() ? keyword.in_draft7 : keyword.in_2020_12)) return nullptr;
  return dialect.has(keyword.vocabulary) ? &keyword : nullptr;
}

Result<const SchemaRegistry::Place*> SchemaRegistry::add_main(const Value& schema) {
  if (auto read = read_document("", schema); !read) return std::move(read).error();
  return &places_.at(&schema);
}

const SchemaRegistry::Place* SchemaRegistry::find(const Value& schema) const {
  const auto found = places_.find(&schema);
  return found == places_.end() ? nullptr : &found->second;
}

std::string SchemaRegistry::location(const Place& place) const {
  const std::string& uri = documents_[place.document];
  return uri.empty() ? place.pointer : uri + "#" + place.pointer;
}

Result<void> SchemaRegistry::read_document(const std::string& uri, const Value& value) {
  const std::string name = uri.empty() ? "the schema" : "the document " + quote(uri);
  std::size_t size = 0;
  add_size(value, options_.schema_bytes, size);
  if (size > options_.schema_bytes) {
    return error(name + " is larger than the " + std::to_string(options_.schema_bytes) +
                 " bytes allowed (SchemaOptions::schema_bytes)");
  }
  Dialect dialect{.draft = options_.draft};
  if (const auto text = value["$schema"].as_string()) {
    auto found = dialect_of(*text, 0);
    if (!found) return std::move(found).error();
    dialect = *found;
  }
  const auto index = static_cast<std::uint32_t>(resources_.size());
  resources_.push_back({uri, dialect, &value});
  by_uri_.emplace(uri, index);
  documents_.push_back(uri);
  const auto document = static_cast<std::uint32_t>(documents_.size() - 1);
  auto scanned = scan(value, index, document, "", 0);
  // Nothing may lead into a document that was read in part only.
  if (!scanned) std::erase_if(by_uri_, [&](const auto& entry) { return entry.second >= index; });
  return scanned;
}

Result<Dialect> SchemaRegistry::dialect_of(std::string_view text, int chain) {
  const std::string uri = without_fragment(text);
  if (uri == draft2020_uri) return Dialect{};
  if (uri == draft7_uri || uri == "https://json-schema.org/draft-07/schema") {
    return Dialect{.draft = Draft::draft7};
  }
  const Value* metaschema = find_source(uri);
  constexpr int longest_chain = 8;  // a metaschema of a metaschema is already rare
  if (!metaschema || !metaschema->is_object() || chain > longest_chain) {
    return error("$schema: the dialect " + quote(text) +
                 " is not known; draft 2020-12 (\"https://json-schema.org/draft/2020-12/schema\") "
                 "and draft 7 (\"http://json-schema.org/draft-07/schema#\") are, and metaschemas "
                 "among SchemaOptions::documents");
  }
  Dialect dialect{.draft = options_.draft};
  if (const auto parent = (*metaschema)["$schema"].as_string();
      parent && without_fragment(*parent) != uri) {
    auto found = dialect_of(*parent, chain + 1);
    if (!found) return found;
    // The vocabularies of the parent are about the metaschema itself, not about its users.
    dialect.draft = found->draft;
  }
  return vocabularies_of(*metaschema->as_object(), dialect);
}

Result<Dialect> SchemaRegistry::vocabularies_of(const Object& metaschema, Dialect dialect) {
  const Value* list = metaschema.find("$vocabulary");
  if (!list || !list->is_object() || dialect.draft7()) return dialect;
  dialect.vocabularies = core;
  for (const Member& member : *list->as_object()) {
    std::string_view name;
    if (member.key.starts_with(vocabulary_prefix)) {
      name = std::string_view(member.key).substr(vocabulary_prefix.size());
    }
    std::uint8_t bit = 0;
    if (name == "core") bit = core;
    if (name == "applicator") bit = applicator;
    if (name == "unevaluated") bit = unevaluated;
    if (name == "validation") bit = validation;
    if (name == "format-annotation") bit = format_remark;
    if (name == "format-assertion") bit = format_assertion;
    if (name == "meta-data" || name == "content") bit = core;  // remarks, nothing to switch on
    if (bit == 0 && member.value.as_bool() == true) {
      return error("$vocabulary: the metaschema requires the vocabulary " + quote(member.key) +
                   ", which is not known");
    }
    dialect.vocabularies = static_cast<std::uint8_t>(dialect.vocabularies | bit);
  }
  return dialect;
}

const Value* SchemaRegistry::find_source(std::string_view uri) {
  if (!sources_ready_) {
    sources_ready_ = true;
    for (const auto& [name, value] : options_.documents) {
      sources_.push_back({without_fragment(name), &value});
    }
  }
  for (const Source& source : sources_) {
    if (source.uri == uri) return source.value;
  }
  const std::string_view text = metaschema_text(uri);
  if (text.empty()) return nullptr;
  Result<Value> parsed = parse(text);
  if (!parsed) return nullptr;
  metaschemas_.push_back(std::move(*parsed));
  sources_.push_back({std::string(uri), &metaschemas_.back()});
  return sources_.back().value;
}

Result<bool> SchemaRegistry::load(const std::string& uri) {
  const Value* value = find_source(uri);
  if (!value) return false;
  const auto source = std::find_if(sources_.begin(), sources_.end(),
                                   [&](const Source& one) { return one.value == value; });
  const auto position = static_cast<std::size_t>(source - sources_.begin());
  if (source->failure) return *source->failure;
  if (std::exchange(source->read, true)) return false;
  auto read = read_document(uri, *value);
  if (read) return true;
  sources_[position].failure = read.error();  // sources may have moved
  return std::move(read).error();
}

void SchemaRegistry::load_all() {
  find_source("");
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].read) continue;
    // A document nobody asked for may be in a dialect that is not known; that is no error here.
    const std::string uri = sources_[i].uri;
    (void)load(uri);
  }
}

Result<std::uint32_t> SchemaRegistry::identify(const Object& schema, const Value& value,
                                               std::uint32_t parent) {
  const Value* id = schema.find("$id");
  Dialect dialect = resources_[parent].dialect;
  // Next to $ref, draft 7 ignores everything.
  if (!id || !id->is_string() || (dialect.draft7() && schema.contains("$ref"))) return parent;
  const std::string_view text = *id->as_string();
  const std::string uri = resolve_uri(resources_[parent].uri, text);
  if (uri.size() > longest_uri) {
    return error("the URI of an $id is longer than " + std::to_string(longest_uri) +
                 " bytes: " + quote(uri.substr(0, 100)) + "...");
  }
  const auto [resource_uri, fragment] = split_fragment(uri);
  std::uint32_t index = parent;
  if (!text.starts_with('#') && resource_uri != resources_[parent].uri) {
    const Value* own = schema.find("$schema");
    if (own && own->is_string() && resources_[parent].root != &value) {
      auto found = dialect_of(*own->as_string(), 0);
      if (!found) return std::move(found).error();
      dialect = *found;
    }
    index = static_cast<std::uint32_t>(resources_.size());
    resources_.push_back({std::string(resource_uri), dialect, &value});
    // The first one to claim a URI keeps it.
    by_uri_.emplace(resource_uri, index);
    if (resources_[parent].root == &value) {
      // The root of a document is known by its own name, too.
      by_uri_[resources_[parent].uri] = index;
    }
  }
  if (!fragment.empty() && dialect.draft7()) {
    resources_[index].anchors.emplace(std::string(fragment), std::pair(&value, false));
  }
  return index;
}

Result<void> SchemaRegistry::scan(const Value& schema, std::uint32_t resource,
                                  std::uint32_t document, std::string pointer, std::size_t depth) {
  if (places_.contains(&schema)) return {};
  if (depth > options_.schema_depth) {
    return error("the schema is nested deeper than the " + std::to_string(options_.schema_depth) +
                 " levels allowed (SchemaOptions::schema_depth), at " + pointer);
  }
  if (pointer.size() > longest_pointer) {
    return error(
        "the schema has member names so long that the way to a subschema takes more than " +
        std::to_string(longest_pointer) + " bytes");
  }
  if (places_.size() >= options_.subschemas) {
    return error("the schema has more than the " + std::to_string(options_.subschemas) +
                 " subschemas allowed (SchemaOptions::subschemas)");
  }
  const Object* object = schema.as_object();
  if (object) {
    auto identified = identify(*object, schema, resource);
    if (!identified) return std::move(identified).error();
    resource = *identified;
  }
  by_pointer_.emplace(std::to_string(document) + pointer, &schema);
  const Place& place =
      places_.emplace(&schema, Place{&schema, resource, document, std::move(pointer), depth})
          .first->second;
  if (!object) return {};
  const Dialect dialect = resources_[resource].dialect;
  if (!dialect.draft7()) {
    for (const std::string_view name : {"$anchor", "$dynamicAnchor"}) {
      const Value* anchor = object->find(name);
      if (!anchor || !anchor->is_string()) continue;
      auto& anchors = resources_[resource].anchors;
      auto& entry = anchors[std::string(*anchor->as_string())];
      const bool dynamic = name == "$dynamicAnchor";
      if (!entry.first || dynamic) entry = {&schema, dynamic};
    }
  }
  for (const Member& member : *object) {
    const Keyword* keyword = find_keyword(member.key, dialect);
    if (!keyword || keyword->shape == Shape::none) continue;
    if (auto scanned = scan_keyword(*keyword, member.value, place); !scanned) return scanned;
  }
  return {};
}

Result<void> SchemaRegistry::scan_keyword(const Keyword& keyword, const Value& value,
                                          const Place& at) {
  std::string pointer = at.pointer;
  append_pointer(pointer, keyword.name);
  const auto sub = [&](const Value& schema, std::string where) {
    return scan(schema, at.resource, at.document, std::move(where), at.depth + 1);
  };
  const bool list =
      keyword.shape == Shape::list || (keyword.shape == Shape::schema_or_list && value.is_array());
  if (list) {
    const Array* items = value.as_array();
    if (!items) return {};
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (auto r = sub((*items)[i], pointer + "/" + std::to_string(i)); !r) return r;
    }
    return {};
  }
  if (keyword.shape == Shape::map || keyword.shape == Shape::map_of_schema_or_names) {
    const Object* members = value.as_object();
    if (!members) return {};
    for (const Member& member : *members) {
      if (keyword.shape == Shape::map_of_schema_or_names && member.value.is_array()) continue;
      std::string where = pointer;
      append_pointer(where, member.key);
      if (auto r = sub(member.value, std::move(where)); !r) return r;
    }
    return {};
  }
  return sub(value, std::move(pointer));
}

Result<SchemaRegistry::Target> SchemaRegistry::resolve(const Place& from,
                                                       std::string_view reference) {
  const std::string uri = resolve_uri(resources_[from.resource].uri, reference);
  const auto [resource_view, raw_fragment] = split_fragment(uri);
  const std::string resource_uri(resource_view);
  const auto lost = [&](const std::string& why) {
    return error(location(from) + ": $ref " + quote(reference) + " leads nowhere: " + why);
  };
  auto found = by_uri_.find(resource_uri);
  if (found == by_uri_.end()) {
    if (auto loaded = load(resource_uri); !loaded) return std::move(loaded).error();
    found = by_uri_.find(resource_uri);
  }
  if (found == by_uri_.end()) {
    load_all();
    found = by_uri_.find(resource_uri);
  }
  if (found == by_uri_.end()) {
    return lost("no document " + quote(resource_uri) +
                " is among SchemaOptions::documents, and nothing is ever fetched");
  }
  const Resource& resource = resources_[found->second];
  const Place& root = places_.at(resource.root);
  if (raw_fragment.empty()) return Target{&root};
  const auto fragment = percent_decoded(raw_fragment);
  if (!fragment) return lost("its fragment is not percent-encoded well");
  if (fragment->starts_with('/')) {
    auto place = follow(root, *fragment);
    if (!place) return std::move(place).error();
    if (!*place) return lost("there is nothing at " + quote(*fragment));
    return Target{*place};
  }
  const auto anchor = resource.anchors.find(*fragment);
  if (anchor == resource.anchors.end()) return lost("there is no anchor " + quote(*fragment));
  Target target{&places_.at(anchor->second.first)};
  if (anchor->second.second) target.dynamic_name = *fragment;
  return target;
}

Result<const SchemaRegistry::Place*> SchemaRegistry::follow(const Place& root,
                                                            const std::string& pointer) {
  const auto known = by_pointer_.find(std::to_string(root.document) + root.pointer + pointer);
  if (known != by_pointer_.end()) return &places_.at(known->second);
  // Into a keyword that is not known, or into one that holds no schemas: read as a schema from
  // there.
  const Place* nearest = &root;
  const Value* at = root.schema;
  std::size_t end = 0;
  while (end < pointer.size()) {
    const std::size_t start = end;
    end = pointer.find('/', start + 1);
    if (end == std::string::npos) end = pointer.size();
    at = at->pointer(std::string_view(pointer).substr(start, end - start));
    if (!at) return static_cast<const Place*>(nullptr);
    if (const Place* place = find(*at)) nearest = place;
  }
  if (!find(*at)) {
    auto scanned =
        scan(*at, nearest->resource, nearest->document, root.pointer + pointer, nearest->depth + 1);
    if (!scanned) return std::move(scanned).error();
  }
  return find(*at);
}

}  // namespace godwit::inline v0::json::detail
