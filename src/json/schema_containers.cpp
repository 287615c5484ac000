// Arrays and objects, for SchemaEvaluator.
#include <algorithm>
#include <cstring>

#include "godwit/json/writer.hpp"
#include "schema_evaluator.hpp"
#include "schema_message.hpp"

namespace godwit::inline v0::json::detail {

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

}  // namespace godwit::inline v0::json::detail
