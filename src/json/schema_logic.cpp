// Subschemas applied to the same instance, for SchemaEvaluator.
#include <algorithm>

#include "schema_evaluator.hpp"
#include "schema_message.hpp"

namespace godwit::inline v0::json::detail {

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
    if (node.never || !node.takes(value)) continue;
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
