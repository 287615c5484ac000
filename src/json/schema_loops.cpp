#include <unordered_map>

#include "schema_compiler.hpp"

namespace godwit::inline v0::json::detail {

namespace {

/// The subschemas that are applied to the same instance whatever it is.
std::vector<const SchemaNode*> applied_in_place(const SchemaNode& node) {
  std::vector<const SchemaNode*> out;
  if (!node.logic) return out;
  const LogicChecks& logic = *node.logic;
  for (const auto* list : {&logic.refs, &logic.all, &logic.any, &logic.one}) {
    out.insert(out.end(), list->begin(), list->end());
  }
  if (logic.negated) out.push_back(logic.negated);
  if (logic.condition) out.push_back(logic.condition);
  return out;
}

std::string place_name(const SchemaNode& node) {
  return node.location.empty() ? "the root" : node.location;
}

}  // namespace

// Depth first with an own stack: a chain of references may be as long as the schema.
Result<void> refuse_loops(const SchemaProgram& program) {
  struct Step {
    const SchemaNode* node;
    std::vector<const SchemaNode*> next;
    std::size_t at = 0;
  };
  enum class Mark : char { open, closed };
  std::unordered_map<const SchemaNode*, Mark> marks;
  for (const SchemaNode& start : program.nodes) {
    if (!marks.try_emplace(&start, Mark::open).second) continue;
    std::vector<Step> path;
    path.push_back({&start, applied_in_place(start)});
    while (!path.empty()) {
      Step& step = path.back();
      if (step.at == step.next.size()) {
        marks[step.node] = Mark::closed;
        path.pop_back();
        continue;
      }
      const SchemaNode* next = step.next[step.at++];
      const auto [mark, fresh] = marks.try_emplace(next, Mark::open);
      if (fresh) {
        path.push_back({next, applied_in_place(*next)});
      } else if (mark->second == Mark::open) {
        return error("the schema loops: " + place_name(*next) +
                     " applies itself to the same value again without end, by way of " +
                     place_name(*path.back().node));
      }
    }
  }
  return {};
}

void shorten_references(SchemaProgram& program) {
  // The resources on the way count for dynamic references.
  if (program.has_dynamic_refs) return;
  for (SchemaNode& node : program.nodes) {
    const bool only_logic = node.types == every_type && node.logic && !node.value && !node.number &&
                            !node.string && !node.array && !node.object &&
                            !node.unevaluated_items && !node.unevaluated_members;
    if (!only_logic) continue;
    const LogicChecks& logic = *node.logic;
    if (logic.refs.size() == 1 && logic.all.empty() && logic.any.empty() && logic.one.empty() &&
        !logic.negated && !logic.condition) {
      node.alias = logic.refs.front();
    }
  }
  for (SchemaNode& node : program.nodes) {
    // Each walk shortens the chain for those that come after it.
    const SchemaNode* end = node.alias;
    while (end && end->alias) end = end->alias;
    for (SchemaNode* at = &node; at->alias && at->alias != end;) {
      SchemaNode* next = const_cast<SchemaNode*>(at->alias);
      at->alias = end;
      at = next;
    }
  }
}

}  // namespace godwit::inline v0::json::detail
