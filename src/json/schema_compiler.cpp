#include "schema_compiler.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "godwit/json/writer.hpp"
#include "schema_compare.hpp"
#include "schema_registry.hpp"

namespace godwit::inline v0::json::detail {

namespace {

using Place = SchemaRegistry::Place;

// Nodes are made when something first points at them and filled in from a queue, so that neither a
// long chain of references nor a cycle of them needs any stack.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(const SchemaOptions& options)
      : options_(options), registry_(options), pattern_memory_(options.pattern_bytes) {
    if (!options.trusted) pattern_memory_ /= 4;
    program_ = std::make_shared<SchemaProgram>();
    program_->trusted = options.trusted;
    program_->steps = options.steps;
    program_->nesting = options.nesting;
    program_->max_violations = std::max<std::size_t>(options.violations, 1);
  }

  Result<std::shared_ptr<const SchemaProgram>> run(const Value& schema) {
    auto main = registry_.add_main(schema);
    if (!main) return std::move(main).error();
    program_->root = node_at(**main);
    fill_queue();
    while (good() && add_dynamic_targets()) fill_queue();
    if (good()) fill_constants();
    if (good()) {
      if (auto loops = refuse_loops(*program_); !loops) return std::move(loops).error();
      shorten_references(*program_);
    }
    if (error_) return std::move(*error_);
    return std::shared_ptr<const SchemaProgram>(std::move(program_));
  }

 private:
  struct Work {
    SchemaNode* node;
    const Place* place;
  };

  bool good() const { return !error_.has_value(); }
  void fail(std::string message) {
    if (!error_) error_ = error(std::move(message));
  }
  /// The keyword has not the shape that it must have.
  void bad_shape(std::string_view keyword, std::string_view expected) {
    fail(here(keyword) + ": expected " + std::string(expected));
  }
  std::string here(std::string_view keyword) const {
    std::string where = place_ ? registry_.location(*place_) : std::string();
    append_pointer(where, keyword);
    return where;
  }

  SchemaNode* node_at(const Place& place) {
    const auto [entry, fresh] = nodes_.try_emplace(place.schema, nullptr);
    if (fresh) {
      SchemaNode& node = program_->nodes.emplace_back();
      node.resource = place.resource;
      node.location = registry_.location(place);
      entry->second = &node;
      queue_.push_back({&node, &place});
    }
    return entry->second;
  }

  SchemaNode* subschema(const Value& schema, std::string_view keyword) {
    const Place* place = registry_.find(schema);
    if (!place || (!schema.is_object() && !schema.is_bool())) {
      bad_shape(keyword, "a schema (an object or a boolean)");
      return nullptr;
    }
    return node_at(*place);
  }

  void fill_queue() {
    for (std::size_t i = 0; i < queue_.size() && good(); ++i) {
      const Work work = queue_[i];
      node_ = work.node;
      place_ = work.place;
      fill();
    }
    queue_.clear();
  }

  void fill() {
    const Value& schema = *place_->schema;
    if (const auto flag = schema.as_bool()) {
      (*flag ? node_->always : node_->never) = true;
      return;
    }
    const Object* object = schema.as_object();
    if (!object) {
      const std::string where = registry_.location(*place_);
      return fail((where.empty() ? "the schema" : where) +
                  ": expected a schema (an object or a boolean), got " +
                  schema.dump().substr(0, 60));
    }
    object_ = object;
    dialect_ = registry_.dialect(*place_);
    names_.clear();
    const Value* ref = object->find("$ref");
    if (dialect_.draft7() && ref) {
      keyword("$ref", *ref);  // the rest is ignored
    } else {
      for (const Member& member : *object) {
        if (find_keyword(member.key, dialect_)) keyword(member.key, member.value);
        if (!good()) return;
      }
    }
    if (good()) finish();
  }

  void finish() {
    if (node_->array) {
      ArrayChecks& array = *node_->array;
      if (!array.contains) {
        array.min_contains = 0;
        array.max_contains = no_bound;
      }
    }
    if (node_->object) finish_object(*node_->object);
    if (node_->logic && !node_->logic->condition) {
      node_->logic->then = nullptr;
      node_->logic->otherwise = nullptr;
    }
    const bool asks = node_->types != every_type || node_->value || node_->number ||
                      node_->string || node_->array || node_->object || node_->logic ||
                      node_->unevaluated_items || node_->unevaluated_members;
    node_->always = !asks;
  }

  // Sorts the names and lets everything that counted on their order point at the new places.
  void finish_object(ObjectChecks& object) {
    std::vector<std::uint32_t> order(object.members.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::string& x = object.members[a].name;
      const std::string& y = object.members[b].name;
      return x.size() != y.size() ? x.size() < y.size() : x < y;
    });
    std::vector<std::uint32_t> place(order.size());
    std::vector<NamedMember> sorted(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted[i] = std::move(object.members[order[i]]);
    }
    object.members = std::move(sorted);
    const auto move = [&](std::vector<std::uint32_t>& positions) {
      for (std::uint32_t& position : positions) position = place[position];
    };
    move(object.required);
    for (auto& dependent : object.dependent_names) {
      dependent.trigger = place[dependent.trigger];
      move(dependent.names);
    }
    for (auto& dependent : object.dependent_schemas) dependent.trigger = place[dependent.trigger];
    object.walks_members =
        !object.members.empty() || !object.patterns.empty() || object.additional || object.names;
  }

  // Which keyword it is was found in the table of the dialect already.
  void keyword(std::string_view name, const Value& value) {
    switch (name[0]) {
      case '$':
        if (name == "$ref" || name == "$dynamicRef") reference(name, value);
        return;
      case 'a':
        if (name == "allOf") return list(name, value, logic().all);
        if (name == "anyOf") return list(name, value, logic().any);
        if (name == "additionalProperties") {
          object().additional = subschema(value, name);
        } else {
          additional_items(value);
        }
        return;
      case 'c':
        if (name == "const") {
          values().has_constant = true;
          constant(values().constant, value);
        } else if (name == "contains") {
          array().contains = subschema(value, name);
        }
        return;
      case 'd':
        return dependent(name, value);
      case 'e':
        if (name == "enum") return choices(value);
        if (name == "else") {
          logic().otherwise = subschema(value, name);
        } else {
          bound(name, value);
        }
        return;
      case 'f':
        return format(value);
      case 'i':
        if (name == "if") {
          logic().condition = subschema(value, name);
        } else {
          items(value);
        }
        return;
      case 'm':
        return bound(name, value);
      case 'n':
        logic().negated = subschema(value, name);
        return;
      case 'o':
        return list(name, value, logic().one);
      case 'p':
        if (name == "pattern") return pattern(value);
        if (name == "properties") return properties(value);
        if (name == "patternProperties") return pattern_properties(value);
        if (name == "prefixItems") {
          array().prefix_keyword = "prefixItems";
          return list(name, value, array().prefix);
        }
        object().names = subschema(value, name);
        return;
      case 'r':
        return name_list(name, value, object().required);
      case 't':
        if (name == "type") return type(value);
        logic().then = subschema(value, name);
        return;
      case 'u':
        if (name == "uniqueItems") {
          if (!value.is_bool()) return bad_shape(name, "a boolean");
          if (*value.as_bool()) array().unique = true;
        } else if (name == "unevaluatedItems") {
          node_->unevaluated_items = subschema(value, name);
        } else {
          node_->unevaluated_members = subschema(value, name);
        }
        return;
      default:
        return;
    }
  }

  template <class T>
  static T& made(std::unique_ptr<T>& checks) {
    if (!checks) checks = std::make_unique<T>();
    return *checks;
  }
  ValueChecks& values() { return made(node_->value); }
  NumberChecks& number() { return made(node_->number); }
  StringChecks& string() { return made(node_->string); }
  ArrayChecks& array() { return made(node_->array); }
  ObjectChecks& object() { return made(node_->object); }
  LogicChecks& logic() { return made(node_->logic); }

  void reference(std::string_view name, const Value& value) {
    if (!value.is_string()) return bad_shape(name, "a URI reference (a string)");
    auto target = registry_.resolve(*place_, *value.as_string());
    if (!target) return fail(target.error().message);
    const Value& schema = *target->place->schema;
    if (!schema.is_object() && !schema.is_bool()) {
      return fail(here(name) + ": " + quote(*value.as_string()) +
                  " leads to something that is no schema");
    }
    const SchemaNode* node = node_at(*target->place);
    if (name == "$ref" || !target->dynamic_name) {
      logic().refs.push_back(node);
      return;
    }
    logic().dynamic = std::make_unique<DynamicRef>();
    logic().dynamic->fallback = node;
    program_->has_dynamic_refs = true;
    logic().dynamic->targets = &program_->dynamic_targets[*target->dynamic_name];
  }

  // Every resource that has the dynamic anchor may turn out to be the outermost one. Compiling
  // those may read more resources and meet more names; true if it has to be asked again.
  bool add_dynamic_targets() {
    auto& targets = program_->dynamic_targets;
    const std::pair known(targets.size(), registry_.resource_count());
    if (targets_known_ == known) return false;
    targets_known_ = known;
    for (auto& [name, list] : targets) list.clear();
    for (std::uint32_t i = 0; i < known.second; ++i) {
      for (const auto& [name, anchor] : registry_.resource(i).anchors) {
        const auto wanted = targets.find(name);
        if (!anchor.second || wanted == targets.end()) continue;
        wanted->second.emplace_back(i, node_at(*registry_.find(*anchor.first)));
      }
    }
    return true;
  }

  void list(std::string_view name, const Value& value, std::vector<const SchemaNode*>& into) {
    const Array* items = value.as_array();
    if (!items || items->empty()) return bad_shape(name, "an array of schemas, at least one");
    for (const Value& item : *items) into.push_back(subschema(item, name));
  }

  void items(const Value& value) {
    if (!value.is_array()) {
      array().rest = subschema(value, "items");
      array().rest_keyword = "items";
      return;
    }
    if (!dialect_.draft7()) {
      return fail(here("items") +
                  ": expected a schema; an array of them is \"prefixItems\" since draft 2020-12");
    }
    array().prefix_keyword = "items";
    for (const Value& item : *value.as_array()) {
      array().prefix.push_back(subschema(item, "items"));
    }
  }

  // Draft 7; means something only after a list of items.
  void additional_items(const Value& value) {
    const SchemaNode* node = subschema(value, "additionalItems");
    const Value* items = object_->find("items");
    if (!items || !items->is_array()) return;
    array().rest = node;
    array().rest_keyword = "additionalItems";
  }

  std::uint32_t member_position(std::string_view name) {
    auto& members = object().members;
    const auto [entry, fresh] =
        names_.try_emplace(std::string(name), static_cast<std::uint32_t>(members.size()));
    if (fresh) members.push_back({std::string(name)});
    return entry->second;
  }

  void properties(const Value& value) {
    const Object* members = value.as_object();
    if (!members) return bad_shape("properties", "an object of schemas");
    for (const Member& member : *members) {
      const std::uint32_t position = member_position(member.key);
      object().members[position].schema = subschema(member.value, "properties");
    }
  }

  void pattern_properties(const Value& value) {
    const Object* members = value.as_object();
    if (!members) return bad_shape("patternProperties", "an object of schemas");
    for (const Member& member : *members) {
      const SchemaNode* node = subschema(member.value, "patternProperties");
      if (const Pattern* compiled = pattern_of("patternProperties", member.key)) {
        object().patterns.emplace_back(compiled, node);
      } else {
        object().skipped_pattern = true;
      }
    }
  }

  void name_list(std::string_view keyword_name, const Value& value,
                 std::vector<std::uint32_t>& into) {
    const Array* names = value.as_array();
    if (!names) return bad_shape(keyword_name, "an array of strings");
    for (const Value& name : *names) {
      if (!name.is_string()) return bad_shape(keyword_name, "an array of strings");
      into.push_back(member_position(*name.as_string()));
    }
  }

  void dependent(std::string_view name, const Value& value) {
    if (name == "definitions") return;
    const Object* members = value.as_object();
    if (!members) return bad_shape(name, "an object");
    const std::string_view stable = find_keyword(name, dialect_)->name;
    for (const Member& member : *members) {
      const std::uint32_t trigger = member_position(member.key);
      if (name == "dependentRequired" || (name == "dependencies" && member.value.is_array())) {
        ObjectChecks::DependentNames entry{trigger, {}, stable};
        name_list(name, member.value, entry.names);
        object().dependent_names.push_back(std::move(entry));
      } else {
        object().dependent_schemas.push_back({trigger, subschema(member.value, name), stable});
      }
    }
  }

  void type(const Value& value) {
    unsigned types = 0;
    const auto add = [&](const Value& name) {
      const auto text = name.as_string();
      if (text == "null")
        types |= null_bit;
      else if (text == "boolean")
        types |= boolean_bit;
      else if (text == "number")
        types |= real_bit | whole_bit;
      else if (text == "integer")
        types |= whole_bit;
      else if (text == "string")
        types |= string_bit;
      else if (text == "array")
        types |= array_bit;
      else if (text == "object")
        types |= object_bit;
      else
        bad_shape("type",
                  "\"null\", \"boolean\", \"number\", \"integer\", \"string\", \"array\", "
                  "\"object\", or an array of these; got " +
                      value.dump().substr(0, 60));
    };
    if (const Array* names = value.as_array()) {
      for (const Value& name : *names) add(name);
    } else {
      add(value);
    }
    node_->types = static_cast<std::uint8_t>(types);
  }

  void bound(std::string_view name, const Value& value) {
    if (name == "minimum") return number_bound(name, value, number().minimum);
    if (name == "maximum") return number_bound(name, value, number().maximum);
    if (name == "exclusiveMinimum") return number_bound(name, value, number().exclusive_minimum);
    if (name == "exclusiveMaximum") return number_bound(name, value, number().exclusive_maximum);
    if (name == "multipleOf") {
      if (value.is_number() && value.as_double().value_or(1) <= 0) {
        return bad_shape(name, "a number more than 0");
      }
      return number_bound(name, value, number().multiple_of);
    }
    if (name == "minLength") return count(name, value, string().min);
    if (name == "maxLength") return count(name, value, string().max);
    if (name == "minItems") return count(name, value, array().min);
    if (name == "maxItems") return count(name, value, array().max);
    if (name == "minContains") return count(name, value, array().min_contains);
    if (name == "maxContains") return count(name, value, array().max_contains);
    if (name == "minProperties") return count(name, value, object().min);
    if (name == "maxProperties") return count(name, value, object().max);
  }

  void number_bound(std::string_view name, const Value& value, NumberBound& into) {
    if (!value.is_number() || (value.is_real() && !std::isfinite(*value.as_double()))) {
      return bad_shape(name, "a number, got " + value.dump().substr(0, 60));
    }
    constant(into.value, value);
    if (const auto whole = value.as_int64()) {
      into.exact = *whole;
      into.is_exact = true;
    }
  }

  void count(std::string_view name, const Value& value, std::uint64_t& into) {
    if (const auto whole = value.as_uint64()) {
      into = *whole;
    } else if (value.is_integer() && value.as_double().value_or(1) > 0) {
      into = no_bound;
    } else {
      bad_shape(name, "an integer of 0 or more, got " + value.dump().substr(0, 60));
    }
  }

  // Constants are shown by Views of one Document, which is parsed when all of them are known.
  void constant(View& into, const Value& value) { constants_.emplace_back(&into, &value); }

  void choices(const Value& value) {
    const Array* items = value.as_array();
    if (!items) return bad_shape("enum", "an array");
    ValueChecks& checks = values();
    checks.has_choices = true;
    checks.choices.resize(items->size());
    for (std::size_t i = 0; i < items->size(); ++i) constant(checks.choices[i], (*items)[i]);
    constexpr std::size_t few = 8;
    if (items->size() > few) hashed_.push_back(&checks);
  }

  void fill_constants() {
    if (constants_.empty()) return;
    std::string text;
    Writer writer(text);
    writer.begin_array();
    for (const auto& [view, value] : constants_) writer.value(*value);
    writer.end_array();
    constexpr std::size_t deepest = 512;
    auto root = program_->constants.parse(text, {.depth = deepest, .number_chars = text.size()});
    if (!root) {
      return fail("a constant of the schema cannot be used: " + root.error().message);
    }
    auto item = root->items().begin();
    for (const auto& [view, value] : constants_) {
      *view = *item;
      ++item;
    }
    for (ValueChecks* checks : hashed_) {
      Meter meter(no_bound);
      for (std::uint32_t i = 0; i < checks->choices.size(); ++i) {
        checks->hashes.emplace_back(hash(checks->choices[i], meter), i);
      }
      std::sort(checks->hashes.begin(), checks->hashes.end());
    }
  }

  void pattern(const Value& value) {
    if (!value.is_string()) return bad_shape("pattern", "a regular expression (a string)");
    if (const Pattern* compiled = pattern_of("pattern", *value.as_string())) {
      string().pattern = compiled;
    }
  }

  /// nullptr if it cannot be used: an error, or a warning if the schema is a peer's.
  const Pattern* pattern_of(std::string_view keyword_name, std::string_view text) {
    const auto [entry, fresh] = patterns_.try_emplace(std::string(text), nullptr);
    if (!fresh && (entry->second || !options_.trusted)) return entry->second;
    std::string why;
    if (auto compiled = Pattern::compile(text, pattern_memory_, why)) {
      entry->second = compiled.get();
      program_->patterns.push_back(std::move(compiled));
      return entry->second;
    }
    std::string message = here(keyword_name) + ": the pattern " + quote(text.substr(0, 200)) +
                          " cannot be used: " + why;
    if (options_.trusted) {
      fail(std::move(message));
    } else {
      program_->warnings.push_back(std::move(message) + "; it is skipped");
    }
    return nullptr;
  }

  void format(const Value& value) {
    if (!value.is_string()) return bad_shape("format", "a string");
    const bool asserted =
        dialect_.has(format_assertion) || (options_.assert_formats && dialect_.has(format_remark));
    if (!asserted) return;
    if (const Format* found = find_format(*value.as_string())) string().format = found;
  }

  const SchemaOptions& options_;
  SchemaRegistry registry_;
  std::shared_ptr<SchemaProgram> program_;
  std::optional<Error> error_;
  std::unordered_map<const Value*, SchemaNode*> nodes_;
  std::vector<Work> queue_;
  std::unordered_map<std::string, const Pattern*> patterns_;
  std::size_t pattern_memory_;
  std::vector<std::pair<View*, const Value*>> constants_;
  std::vector<ValueChecks*> hashed_;
  std::pair<std::size_t, std::uint32_t> targets_known_{0, 0};

  // The node that is being filled.
  SchemaNode* node_ = nullptr;
  const Place* place_ = nullptr;
  const Object* object_ = nullptr;
  Dialect dialect_;
  std::unordered_map<std::string, std::uint32_t> names_;
};

}  // namespace

Result<std::shared_ptr<const SchemaProgram>> compile_schema(const Value& schema,
                                                            const SchemaOptions& options) {
  return SchemaCompiler(options).run(schema);
}

}  // namespace godwit::inline v0::json::detail
