#include "schema_evaluator.hpp"

#include <algorithm>

#include "godwit/json/writer.hpp"
#include "schema_message.hpp"

namespace godwit::inline v0::json::detail {

namespace {

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

bool SchemaNode::takes(View instance) const noexcept {
  switch (instance.type()) {
    case Type::null:
      return (types & null_bit) != 0;
    case Type::boolean:
      return (types & boolean_bit) != 0;
    case Type::string:
      return (types & string_bit) != 0;
    case Type::array:
      return (types & array_bit) != 0;
    case Type::object:
      return (types & object_bit) != 0;
    case Type::number:
      break;
  }
  const unsigned wanted = types & (real_bit | whole_bit);
  if (wanted == 0 || wanted == (real_bit | whole_bit)) return wanted != 0;
  return instance.is_integer() == (wanted == whole_bit);
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
  if (node.types != every_type && !node.takes(spot.value)) {
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

}  // namespace godwit::inline v0::json::detail
