// What a schema is compiled into: nodes that point at each other, grouped by the type of instance
// they speak about, so that validating a value looks only at what concerns it. Built by
// SchemaCompiler, read by SchemaEvaluator, immutable in between and shared by threads.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format.hpp"
#include "godwit/base/export.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/schema.hpp"
#include "pattern.hpp"

namespace godwit::inline v0::json::detail {

struct SchemaNode;

/// Types an instance may have, one bit each. A number is whole or real.
enum TypeBit : std::uint8_t {
  null_bit = 1,
  boolean_bit = 2,
  real_bit = 4,
  whole_bit = 8,
  string_bit = 16,
  array_bit = 32,
  object_bit = 64,
  every_type = 127,
};

inline constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();

struct NumberBound {
  View value{};
  /// The value again if it is a 64-bit integer, for quick comparison.
  std::int64_t exact = 0;
  bool is_exact = false;
};

struct NumberChecks {
  NumberBound minimum{};
  NumberBound maximum{};
  NumberBound exclusive_minimum{};
  NumberBound exclusive_maximum{};
  NumberBound multiple_of{};
};

struct StringChecks {
  std::uint64_t min = 0;
  std::uint64_t max = no_bound;
  const Pattern* pattern = nullptr;
  const Format* format = nullptr;
};

struct ArrayChecks {
  std::vector<const SchemaNode*> prefix{};
  const SchemaNode* rest = nullptr;
  std::string_view prefix_keyword{};
  std::string_view rest_keyword{};
  const SchemaNode* contains = nullptr;
  std::uint64_t min_contains = 1;
  std::uint64_t max_contains = no_bound;
  std::uint64_t min = 0;
  std::uint64_t max = no_bound;
  bool unique = false;
};

/// A member name that the schema mentions.
struct NamedMember {
  std::string name{};
  /// Of "properties"; nullptr if the name is only required or a trigger.
  const SchemaNode* schema = nullptr;
};

struct ObjectChecks {
  /// Sorted by length, then bytes.
  std::vector<NamedMember> members{};
  std::vector<std::pair<const Pattern*, const SchemaNode*>> patterns{};
  /// A pattern of a peer could not be used: any member may be one that it would have matched.
  bool skipped_pattern = false;
  const SchemaNode* additional = nullptr;
  const SchemaNode* names = nullptr;
  /// Positions in `members`.
  std::vector<std::uint32_t> required{};
  struct DependentNames {
    std::uint32_t trigger;
    std::vector<std::uint32_t> names;
    std::string_view keyword;
  };
  std::vector<DependentNames> dependent_names{};
  struct DependentSchema {
    std::uint32_t trigger;
    const SchemaNode* schema;
    std::string_view keyword;
  };
  std::vector<DependentSchema> dependent_schemas{};
  std::uint64_t min = 0;
  std::uint64_t max = no_bound;
  /// False if there is nothing to ask of the members one by one.
  bool walks_members = false;

  /// Position of the name in `members`; -1 if it is not mentioned.
  int find(std::string_view name) const noexcept;
};

/// enum and const.
struct ValueChecks {
  bool has_constant = false;
  View constant{};
  bool has_choices = false;
  std::vector<View> choices{};
  /// Hash and position of each choice, sorted; only for many choices.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> hashes{};
};

/// By resource, sorted: where its dynamic anchor of some name is.
using DynamicTargets = std::vector<std::pair<std::uint32_t, const SchemaNode*>>;

struct DynamicRef {
  const DynamicTargets* targets = nullptr;
  /// If no resource in the dynamic scope has one.
  const SchemaNode* fallback = nullptr;
};

/// Subschemas applied to the same instance.
struct LogicChecks {
  /// $ref, and $dynamicRef where it is a plain reference.
  std::vector<const SchemaNode*> refs{};
  std::unique_ptr<DynamicRef> dynamic{};
  std::vector<const SchemaNode*> all{};
  std::vector<const SchemaNode*> any{};
  std::vector<const SchemaNode*> one{};
  const SchemaNode* negated = nullptr;
  const SchemaNode* condition = nullptr;
  const SchemaNode* then = nullptr;
  const SchemaNode* otherwise = nullptr;
};

struct SchemaNode {
  std::uint8_t types = every_type;
  /// The schema `false`.
  bool never = false;
  /// Asks nothing: `true`, {} and remarks only.
  bool always = false;
  /// What to apply instead, for a node that is nothing but a reference.
  const SchemaNode* alias = nullptr;
  /// The schema resource it is part of.
  std::uint32_t resource = 0;
  std::unique_ptr<ValueChecks> value{};
  std::unique_ptr<NumberChecks> number{};
  std::unique_ptr<StringChecks> string{};
  std::unique_ptr<ArrayChecks> array{};
  std::unique_ptr<ObjectChecks> object{};
  std::unique_ptr<LogicChecks> logic{};
  const SchemaNode* unevaluated_items = nullptr;
  const SchemaNode* unevaluated_members = nullptr;
  /// Where it stands, for people.
  std::string location{};

  /// True if "type" admits the instance.
  bool takes(View instance) const noexcept;
};

struct SchemaProgram {
  std::deque<SchemaNode> nodes{};
  const SchemaNode* root = nullptr;
  std::vector<std::unique_ptr<const Pattern>> patterns{};
  /// Holds what the Views in the nodes show.
  Document constants{};
  /// By the name of the anchor.
  std::unordered_map<std::string, DynamicTargets> dynamic_targets{};
  std::vector<std::string> warnings{};

  bool trusted = true;
  bool has_dynamic_refs = false;
  std::uint64_t steps = 0;
  std::size_t nesting = 0;
  std::size_t max_violations = 0;
};

/// A token of a JSON Pointer with '~' and '/' escaped, and the '/' before it.
void append_pointer(std::string& pointer, std::string_view token);

}  // namespace godwit::inline v0::json::detail
