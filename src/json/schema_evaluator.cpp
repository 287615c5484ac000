#include "schema_evaluator.hpp"

#include <algorithm>
#include <cstring>

#include "godwit/json/writer.hpp"
#include "schema_message.hpp"

namespace godwit::inline v0::json::detail {

namespace {

bool takes_type(const SchemaNode& node, View value) noexcept {
  switch (value.type()) {
    case Type::null:
      return (node.types & null_bit) != 0;
    case Type::boolean:
      return (node.types & boolean_bit) != 0;
    case Type::string:
      return (node.types & string_bit) != 0;
    case Type::array:
      return (node.types & array_bit) != 0;
    case Type::object:
      return (node.types & object_bit) != 0;
    case Type::number:
      break;
  }
  const unsigned wanted = node.types & (real_bit | whole_bit);
  if (wanted == 0 || wanted == (real_bit | whole_bit)) return wanted != 0;
  return value.is_integer() == (wanted == whole_bit);
}

/// Negative, 0 or positive.
int compare(View value, const NumberBound& bound) noexcept {
  if (bound.is_exact) {
    if (const auto whole = value.as_int64()) {
      return *whole < bound.exact ? -1 : (*whole > bound.exact ? 1 : 0);
    }
  }
  return compare_numbers(value, bound.value);
}

}  // namespace

int ObjectChecks::find(std::string_view name) const noexcept {
  const auto same = [&](const NamedMember& member) {
    return member.name.size() == name.size() &&
           std::memcmp(member.name.data(), name.data(), name.size()) == 0;
  };
  constexpr std::size_t few = 8;
  if (members.size() <= few) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (same(members[i])) return static_cast<int>(i);
    }
    return -1;
  }
  const auto found = std::lower_bound(
      members.begin(), members.end(), name, [](const NamedMember& member, std::string_view text) {
        if (member.name.size() != text.size()) return member.name.size() < text.size();
        return std::memcmp(member.name.data(), text.data(), text.size()) < 0;
      });
  if (found == members.end() || !same(*found)) return -1;
  return static_cast<int>(found - members.begin());
}

bool SchemaEvaluator::run(View instance) {
  const Scope scope{nullptr, program_.root->resource};
  const bool valid =
      check(*program_.root, {instance, nullptr, &scope, nullptr, violations_ != nullptr});
  // A "no" for lack of budget turns into a "yes" under "not", so that such an answer is never
  // "yes".
  return valid && !meter_.spent() && !too_deep_;
}

std::optional<Violation> SchemaEvaluator::exhausted() const {
  if (too_deep_) {
    return Violation{"", "budget",
                     "schemas are applied inside one another more than " +
                         std::to_string(program_.nesting) +
                         " times (SchemaOptions::nesting); the schema may loop",
                     ""};
  }
  if (!meter_.spent()) return std::nullopt;
  return Violation{"", "budget",
                   "validation takes more than the " + std::to_string(program_.steps) +
                       " steps allowed (SchemaOptions::steps)",
                   ""};
}

void SchemaEvaluator::tell(const Spot& spot, const SchemaNode& node, std::string_view keyword,
                           std::string message) {
  std::vector<const Step*> steps;
  for (const Step* step = spot.path; step; step = step->outer) steps.push_back(step);
  Violation violation;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    append_pointer(violation.path, (*step)->index == no_index ? std::string((*step)->key)
                                                              : std::to_string((*step)->index));
  }
  violation.keyword = keyword;
  violation.message = std::move(message);
  violation.schema_path = node.location;
  if (!node.never) append_pointer(violation.schema_path, keyword);
  violations_->push_back(std::move(violation));
}

bool SchemaEvaluator::check(const SchemaNode& given, const Spot& spot) {
  const SchemaNode& node = given.alias ? *given.alias : given;
  if (node.always) return true;
  if (!meter_.spend(1)) return false;
  if (depth_ >= program_.nesting) {
    too_deep_ = true;
    return false;
  }
  if (too_deep_) return false;
  ++depth_;
  bool ok;
  if (node.resource == spot.scope->resource || !program_.has_dynamic_refs) {
    ok = check_entered(node, spot);
  } else {
    const Scope scope{spot.scope, node.resource};
    ok = check_entered(node, {spot.value, spot.path, &scope, spot.marks, spot.loud});
  }
  --depth_;
  return ok;
}

bool SchemaEvaluator::check_entered(const SchemaNode& node, const Spot& spot) {
  if (node.never)
    return fail(spot, node, "false", [&] { return std::string("no value is allowed here"); });
  if ((node.unevaluated_items && spot.value.is_array()) ||
      (node.unevaluated_members && spot.value.is_object())) {
    return check_unevaluated(node, spot);
  }
  return check_parts(node, spot);
}

bool SchemaEvaluator::check_parts(const SchemaNode& node, const Spot& spot) {
  if (node.types != every_type && !takes_type(node, spot.value)) {
    if (!spot.loud) return false;
    return fail(spot, node, "type", [&] {
      return "expected " + type_names(node.types) + ", got " + excerpt(spot.value);
    });
  }
  bool ok = true;
  if (node.value && !check_value(node, spot)) {
    ok = false;
    if (enough(spot)) return false;
  }
  bool own = true;
  switch (spot.value.type()) {
    case Type::number:
      if (node.number) own = check_number(node, spot);
      break;
    case Type::string:
      if (node.string) own = check_string(node, spot, *spot.value.as_string());
      break;
    case Type::array:
      if (node.array) own = check_array(node, spot);
      break;
    case Type::object:
      if (node.object) own = check_object(node, spot);
      break;
    default:
      break;
  }
  if (!own) {
    ok = false;
    if (enough(spot)) return false;
  }
  if (node.logic && !check_logic(node, spot)) ok = false;
  return ok;
}

bool SchemaEvaluator::check_unevaluated(const SchemaNode& node, const Spot& spot) {
  const View value = spot.value;
  PositionSet marks(value.size());
  Spot inner = spot;
  inner.marks = &marks;
  // What failed has no say in what was evaluated; complaints about it would only confuse.
  if (!check_parts(node, inner)) return false;
  bool ok = true;
  if (!marks.all()) {
    const bool array = value.is_array();
    const SchemaNode& schema = array ? *node.unevaluated_items : *node.unevaluated_members;
    const std::string_view keyword = array ? "unevaluatedItems" : "unevaluatedProperties";
    std::size_t position = 0;
    const auto one = [&](View item, const Step& step) {
      if (!marks.test(position) && !child(schema, node, keyword, item, step, spot)) ok = false;
      ++position;
      return ok || !enough(spot);
    };
    if (!meter_.spend(value.size() / 4)) return false;
    if (array) {
      for (View item : value.items()) {
        if (!one(item, {spot.path, {}, position})) break;
      }
    } else {
      for (const auto [key, member] : value.members()) {
        if (!one(member, {spot.path, key, no_index})) break;
      }
    }
  }
  if (spot.marks) spot.marks->set_all();
  return ok;
}

bool SchemaEvaluator::check_value(const SchemaNode& node, const Spot& spot) {
  const ValueChecks& checks = *node.value;
  if (checks.has_constant && !equal(checks.constant, spot.value, meter_)) {
    if (!spot.loud) return false;
    return fail(spot, node, "const", [&] {
      return "expected " + excerpt(checks.constant) + ", got " + excerpt(spot.value);
    });
  }
  if (!checks.has_choices) return true;
  if (checks.hashes.empty()) {
    for (const View choice : checks.choices) {
      if (equal(choice, spot.value, meter_)) return true;
    }
  } else {
    const std::uint64_t wanted = hash(spot.value, meter_);
    auto entry = std::lower_bound(checks.hashes.begin(), checks.hashes.end(),
                                  std::pair(wanted, std::uint32_t{0}));
    for (; entry != checks.hashes.end() && entry->first == wanted; ++entry) {
      if (!meter_.spend(1)) return false;
      if (equal(checks.choices[entry->second], spot.value, meter_)) return true;
    }
  }
  if (!spot.loud) return false;
  return fail(spot, node, "enum", [&] {
    return "expected " + choice_list(checks.choices) + ", got " + excerpt(spot.value);
  });
}

bool SchemaEvaluator::check_number(const SchemaNode& node, const Spot& spot) {
  const NumberChecks& checks = *node.number;
  const View value = spot.value;
  bool ok = true;
  const auto no = [&](std::string_view keyword, std::string_view what, const NumberBound& bound) {
    ok = false;
    if (spot.loud) {
      fail(spot, node, keyword,
           [&] { return excerpt(value) + std::string(what) + excerpt(bound.value); });
    }
  };
  if (checks.minimum.value && compare(value, checks.minimum) < 0) {
    no("minimum", " is less than ", checks.minimum);
  }
  if (checks.maximum.value && compare(value, checks.maximum) > 0) {
    no("maximum", " is more than ", checks.maximum);
  }
  if (checks.exclusive_minimum.value && compare(value, checks.exclusive_minimum) <= 0) {
    no("exclusiveMinimum", " is not more than ", checks.exclusive_minimum);
  }
  if (checks.exclusive_maximum.value && compare(value, checks.exclusive_maximum) >= 0) {
    no("exclusiveMaximum", " is not less than ", checks.exclusive_maximum);
  }
  constexpr std::uint64_t division = 4;  // about as many steps as decimal arithmetic takes
  if (checks.multiple_of.value && meter_.spend(division) &&
      !is_multiple(value, checks.multiple_of.value)) {
    no("multipleOf", " is not a multiple of ", checks.multiple_of);
  }
  return ok;
}

bool SchemaEvaluator::matches(const Pattern& pattern, std::string_view text) {
  // A program's own patterns run at about a byte per nanosecond. A peer's may be made to force the
  // slow way, which takes as long as the pattern is large.
  const std::uint64_t cost = program_.trusted ? text.size() / 64 : text.size() * pattern.size() / 8;
  return meter_.spend(4 + cost) && pattern.matches(text);
}

bool SchemaEvaluator::holds(const Format& format, std::string_view text) {
  // The slow ones refuse long text unread.
  constexpr std::size_t longest = 4'096;
  const std::uint64_t cost = format.slow ? 2 * std::min(text.size(), longest) : text.size() / 16;
  return meter_.spend(2 + cost) && format.holds(text);
}

bool SchemaEvaluator::check_string(const SchemaNode& node, const Spot& spot,
                                   std::string_view text) {
  const StringChecks& checks = *node.string;
  bool ok = true;
  // A character has one to four bytes: mostly there is no need to count.
  if (checks.min > (text.size() + 3) / 4 || checks.max < text.size()) {
    if (!meter_.spend(text.size() / 128)) return false;
    const std::uint64_t length = count_characters(text);
    if (length < checks.min) {
      if (!spot.loud) return false;
      ok = fail(spot, node, "minLength", [&] {
        return "has " + counted(length, "character") + ", expected at least " +
               std::to_string(checks.min);
      });
    }
    if (length > checks.max) {
      if (!spot.loud) return false;
      ok = fail(spot, node, "maxLength", [&] {
        return "has " + counted(length, "character") + ", expected at most " +
               std::to_string(checks.max);
      });
    }
  }
  if (checks.pattern && !matches(*checks.pattern, text)) {
    if (!spot.loud) return false;
    ok = fail(spot, node, "pattern", [&] {
      return text_excerpt(text) + " does not match " + quote(checks.pattern->source());
    });
  }
  if (checks.format && !holds(*checks.format, text)) {
    if (!spot.loud) return false;
    ok = fail(spot, node, "format", [&] {
      return text_excerpt(text) + " is not of the format " + quote(checks.format->name);
    });
  }
  return ok;
}

bool SchemaEvaluator::child(const SchemaNode& given, const SchemaNode& by, std::string_view keyword,
                            View value, const Step& step, const Spot& spot) {
  const SchemaNode& schema = given.alias ? *given.alias : given;
  if (schema.always) return true;
  const Spot inner{value, &step, spot.scope, nullptr, spot.loud};
  if (schema.never) {
    if (!spot.loud) return false;
    return fail(inner, by, keyword, [&] {
      return step.index == no_index ? "this member is not allowed" : "this item is not allowed";
    });
  }
  return check(schema, inner);
}

bool SchemaEvaluator::check_array(const SchemaNode& node, const Spot& spot) {
  const ArrayChecks& checks = *node.array;
  const std::size_t size = spot.value.size();
  bool ok = true;
  if (size < checks.min || size > checks.max) {
    if (!spot.loud) return false;
    const bool few = size < checks.min;
    ok = fail(spot, node, few ? "minItems" : "maxItems", [&] {
      return "has " + counted(size, "item") +
             (few ? ", expected at least " : ", expected at most ") +
             std::to_string(few ? checks.min : checks.max);
    });
  }
  if (!checks.prefix.empty() || checks.rest) {
    if (!meter_.spend(size / 8)) return false;
    std::size_t position = 0;
    for (View item : spot.value.items()) {
      const bool listed = position < checks.prefix.size();
      const SchemaNode* schema = listed ? checks.prefix[position] : checks.rest;
      if (!schema) break;
      const std::string_view keyword = listed ? checks.prefix_keyword : checks.rest_keyword;
      if (!child(*schema, node, keyword, item, {spot.path, {}, position}, spot)) {
        ok = false;
        if (enough(spot)) return false;
      }
      if (spot.marks) spot.marks->set(position);
      ++position;
    }
    if (spot.marks && checks.rest) spot.marks->set_all();
  }
  if (checks.contains && !check_contains(node, spot)) {
    ok = false;
    if (enough(spot)) return false;
  }
  if (checks.unique) {
    const EqualItems twins = find_equal_items(spot.value, meter_);
    if (twins.found) {
      if (!spot.loud) return false;
      ok = fail(spot, node, "uniqueItems", [&] {
        return "the items " + std::to_string(twins.first) + " and " + std::to_string(twins.second) +
               " are equal";
      });
    }
  }
  return ok;
}

bool SchemaEvaluator::check_contains(const SchemaNode& node, const Spot& spot) {
  const ArrayChecks& checks = *node.array;
  std::uint64_t found = 0;
  std::size_t position = 0;
  for (View item : spot.value.items()) {
    const Step step{spot.path, {}, position};
    if (check(*checks.contains, {item, &step, spot.scope, nullptr, false})) {
      ++found;
      if (spot.marks) spot.marks->set(position);
      // Nothing that follows can change the answer.
      if (!spot.marks && found >= checks.min_contains && checks.max_contains == no_bound) break;
      if (found > checks.max_contains && !spot.loud) return false;
    }
    if (meter_.spent()) return false;
    ++position;
  }
  if (found >= checks.min_contains && found <= checks.max_contains) return true;
  if (!spot.loud) return false;
  const bool few = found < checks.min_contains;
  const std::string_view keyword =
      !few ? "maxContains" : (checks.min_contains == 1 ? "contains" : "minContains");
  return fail(spot, node, keyword, [&] {
    return counted(found, "item") + (found == 1 ? " matches" : " match") +
           " the schema in \"contains\", expected at " + (few ? "least " : "most ") +
           std::to_string(few ? checks.min_contains : checks.max_contains);
  });
}

bool SchemaEvaluator::check_object(const SchemaNode& node, const Spot& spot) {
  const ObjectChecks& checks = *node.object;
  const std::size_t size = spot.value.size();
  bool ok = true;
  if (size < checks.min || size > checks.max) {
    if (!spot.loud) return false;
    const bool few = size < checks.min;
    ok = fail(spot, node, few ? "minProperties" : "maxProperties", [&] {
      return "has " + counted(size, "member") +
             (few ? ", expected at least " : ", expected at most ") +
             std::to_string(few ? checks.min : checks.max);
    });
  }
  if (!checks.walks_members) return ok;
  if (!meter_.spend((checks.members.size() + checks.required.size()) / 64)) return false;
  PositionSet seen(checks.members.size());
  if (!check_members(node, spot, seen)) {
    ok = false;
    if (enough(spot)) return false;
  }
  for (const std::uint32_t position : checks.required) {
    if (seen.test(position)) continue;
    if (!spot.loud) return false;
    ok = fail(spot, node, "required",
              [&] { return quote(checks.members[position].name) + " is missing"; });
    if (enough(spot)) return false;
  }
  for (const auto& dependent : checks.dependent_names) {
    if (!seen.test(dependent.trigger)) continue;
    if (!meter_.spend(1 + dependent.names.size() / 16)) return false;
    for (const std::uint32_t position : dependent.names) {
      if (seen.test(position)) continue;
      if (!spot.loud) return false;
      ok = fail(spot, node, dependent.keyword, [&] {
        return quote(checks.members[position].name) + " is missing, which " +
               quote(checks.members[dependent.trigger].name) + " needs beside it";
      });
      if (enough(spot)) return false;
    }
  }
  for (const auto& dependent : checks.dependent_schemas) {
    if (!seen.test(dependent.trigger)) continue;
    if (!check(*dependent.schema, spot)) {
      ok = false;
      if (enough(spot)) return false;
    }
  }
  return ok;
}

bool SchemaEvaluator::check_members(const SchemaNode& node, const Spot& spot, PositionSet& seen) {
  const ObjectChecks& checks = *node.object;
  if (!meter_.spend(spot.value.size() / 4)) return false;
  bool ok = true;
  std::size_t position = 0;
  const auto apply = [&](const SchemaNode& schema, std::string_view keyword,
                         const MemberView& member) {
    if (!child(schema, node, keyword, member.value, {spot.path, member.key, no_index}, spot)) {
      ok = false;
    }
    return ok || !enough(spot);
  };
  for (const MemberView member : spot.value.members()) {
    bool known = checks.skipped_pattern;
    if (const int named = checks.find(member.key); named >= 0) {
      const auto index = static_cast<std::size_t>(named);
      seen.set(index);
      if (const SchemaNode* schema = checks.members[index].schema) {
        known = true;
        if (!apply(*schema, "properties", member)) return false;
      }
    }
    for (const auto& [pattern, schema] : checks.patterns) {
      if (!matches(*pattern, member.key)) continue;
      known = true;
      if (!apply(*schema, "patternProperties", member)) return false;
    }
    if (!known && checks.additional) {
      known = true;
      if (!apply(*checks.additional, "additionalProperties", member)) return false;
    }
    if (checks.names && !check_name(node, spot, member.key)) {
      ok = false;
      if (enough(spot)) return false;
    }
    if (known && spot.marks) spot.marks->set(position);
    ++position;
  }
  return ok;
}

bool SchemaEvaluator::check_name(const SchemaNode& node, const Spot& spot, std::string_view name) {
  const SchemaNode& schema =
      node.object->names->alias ? *node.object->names->alias : *node.object->names;
  if (schema.always) return true;
  if (!meter_.spend(1)) return false;
  const Step step{spot.path, name, no_index};
  const Spot inner{View(), &step, spot.scope, nullptr, spot.loud};
  if (schema.never) {
    return fail(inner, node, "propertyNames",
                [&] { return std::string("no member is allowed here"); });
  }
  // The usual case asks only about the text.
  if (!schema.value && !schema.logic && (schema.types & string_bit) != 0) {
    return !schema.string || check_string(schema, inner, name);
  }
  // A member name is no value of its own document: it gets one.
  if (!meter_.spend(4 + name.size() / 64)) return false;
  if (!name_document_) name_document_.emplace();
  const auto view = name_document_->parse(quote(name));
  return view && check(schema, {*view, &step, spot.scope, nullptr, spot.loud});
}

bool SchemaEvaluator::check_logic(const SchemaNode& node, const Spot& spot) {
  const LogicChecks& logic = *node.logic;
  bool ok = true;
  const auto all_of = [&](const std::vector<const SchemaNode*>& list) {
    for (const SchemaNode* schema : list) {
      if (check(*schema, spot)) continue;
      ok = false;
      if (enough(spot)) return false;
    }
    return true;
  };
  if (!all_of(logic.refs) || !all_of(logic.all)) return false;
  if (logic.dynamic && !check_dynamic(*logic.dynamic, spot)) ok = false;
  if (!ok && enough(spot)) return false;
  if (!logic.any.empty() && !check_any(node, spot)) ok = false;
  if (!ok && enough(spot)) return false;
  if (!logic.one.empty() && !check_one(node, spot)) ok = false;
  if (!ok && enough(spot)) return false;
  if (logic.negated && check(*logic.negated, spot.quiet())) {
    if (!spot.loud) return false;
    ok = fail(spot, node, "not",
              [&] { return excerpt(spot.value) + " matches the schema that it must not match"; });
  }
  if (logic.condition && !check_condition(node, spot)) ok = false;
  return ok;
}

// Evaluated for its answer only; what it evaluated counts if the answer is yes.
bool SchemaEvaluator::branch(const SchemaNode& node, const Spot& spot) {
  if (!spot.marks) return check(node, spot.quiet());
  if (!meter_.spend(spot.value.size() / 1024)) return false;
  PositionSet marks(spot.value.size());
  if (!check(node, spot.quiet(&marks))) return false;
  spot.marks->merge(marks);
  return true;
}

const SchemaNode* SchemaEvaluator::only_fit(const std::vector<const SchemaNode*>& alternatives,
                                            View value) {
  if (!meter_.spend(alternatives.size() / 8)) return nullptr;
  const SchemaNode* fit = nullptr;
  for (const SchemaNode* alternative : alternatives) {
    const SchemaNode& node = alternative->alias ? *alternative->alias : *alternative;
    if (node.never || !takes_type(node, value)) continue;
    if (fit) return nullptr;
    fit = &node;
  }
  return fit;
}

bool SchemaEvaluator::check_any(const SchemaNode& node, const Spot& spot) {
  const auto& alternatives = node.logic->any;
  // "An integer of at most 10, or null": what is wrong with 12 is that it is more than 10.
  if (spot.loud) {
    if (const SchemaNode* fit = only_fit(alternatives, spot.value)) return check(*fit, spot);
  }
  bool any = false;
  for (const SchemaNode* alternative : alternatives) {
    if (!branch(*alternative, spot)) continue;
    any = true;
    if (!spot.marks) return true;
  }
  if (any) return true;
  if (!spot.loud) return false;
  return fail(spot, node, "anyOf", [&] {
    return excerpt(spot.value) + " matches none of the " +
           counted(alternatives.size(), "alternative");
  });
}

bool SchemaEvaluator::check_one(const SchemaNode& node, const Spot& spot) {
  const auto& alternatives = node.logic->one;
  if (spot.loud) {
    if (const SchemaNode* fit = only_fit(alternatives, spot.value)) return check(*fit, spot);
  }
  std::size_t count = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (!branch(*alternatives[i], spot)) continue;
    if (++count == 1) {
      first = i;
      continue;
    }
    if (!spot.loud) return false;
    return fail(spot, node, "oneOf", [&] {
      return excerpt(spot.value) + " matches alternative " + std::to_string(first) + " and " +
             std::to_string(i) + ", expected exactly one";
    });
  }
  if (count == 1) return true;
  if (!spot.loud) return false;
  return fail(spot, node, "oneOf", [&] {
    return excerpt(spot.value) + " matches none of the " +
           counted(alternatives.size(), "alternative");
  });
}

bool SchemaEvaluator::check_condition(const SchemaNode& node, const Spot& spot) {
  const LogicChecks& logic = *node.logic;
  const bool holds = branch(*logic.condition, spot);
  const SchemaNode* next = holds ? logic.then : logic.otherwise;
  return !next || check(*next, spot);
}

bool SchemaEvaluator::check_dynamic(const DynamicRef& ref, const Spot& spot) {
  const SchemaNode* target = ref.fallback;
  // The outermost resource that has the anchor wins, so the last one found on the way out.
  std::size_t length = 0;
  for (const Scope* scope = spot.scope; scope; scope = scope->outer, ++length) {
    const auto found = std::lower_bound(
        ref.targets->begin(), ref.targets->end(), scope->resource,
        [](const auto& entry, std::uint32_t resource) { return entry.first < resource; });
    if (found != ref.targets->end() && found->first == scope->resource) target = found->second;
  }
  if (!meter_.spend(length / 2)) return false;
  return check(*target, spot);
}

}  // namespace godwit::inline v0::json::detail
