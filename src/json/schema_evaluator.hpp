// Applies a SchemaProgram to one instance. Made for one validation on the stack of its caller; what
// it spends is bounded by the budgets of the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/view.hpp"
#include "schema_compare.hpp"
#include "schema_program.hpp"

namespace godwit::inline v0::json::detail {

/// A set of positions; small ones need no memory.
class PositionSet {
 public:
  explicit PositionSet(std::size_t size) {
    if (size > few) more_.resize((size + 63) / 64);
  }
  void set(std::size_t position) noexcept {
    words()[position / 64] |= std::uint64_t{1} << (position % 64);
  }
  bool test(std::size_t position) const noexcept {
    return all_ || (words()[position / 64] >> (position % 64) & 1) != 0;
  }
  void set_all() noexcept { all_ = true; }
  bool all() const noexcept { return all_; }
  /// Both must be of the same size.
  void merge(const PositionSet& other) noexcept {
    all_ = all_ || other.all_;
    const std::size_t count = more_.empty() ? first_.size() : more_.size();
    for (std::size_t i = 0; i < count; ++i) words()[i] |= other.words()[i];
  }

 private:
  static constexpr std::size_t few = 128;
  std::uint64_t* words() noexcept { return more_.empty() ? first_.data() : more_.data(); }
  const std::uint64_t* words() const noexcept {
    return more_.empty() ? first_.data() : more_.data();
  }

  std::array<std::uint64_t, few / 64> first_{};
  std::vector<std::uint64_t> more_;
  bool all_ = false;
};

class SchemaEvaluator {
 public:
  /// Violations are added to the list if there is one; otherwise the first one ends it.
  SchemaEvaluator(const SchemaProgram& program, std::vector<Violation>* violations) noexcept
      : program_(program), violations_(violations), meter_(program.steps) {}

  bool run(View instance);

  /// Set if the budget was not enough; the answer of run() then means nothing.
  std::optional<Violation> exhausted() const;

 private:
  /// The way to the current value, as a list that lies on the stack.
  struct Step {
    const Step* outer;
    std::string_view key;
    /// Instead of the key, for items; `no_index` for members.
    std::size_t index;
  };
  static constexpr std::size_t no_index = static_cast<std::size_t>(-1);
  /// The resources that were entered on the way.
  struct Scope {
    const Scope* outer;
    std::uint32_t resource;
  };
  struct Spot {
    View value;
    const Step* path;
    const Scope* scope;
    /// Which members or items of the value were evaluated; nullptr if nobody wants to know.
    PositionSet* marks;
    /// True if violations are told, false within not, anyOf and the like.
    bool loud;

    Spot quiet(PositionSet* own_marks = nullptr) const {
      return {value, path, scope, own_marks, false};
    }
  };

  // Kept apart where inlining one into another would make the frames of all of them larger.
  bool check(const SchemaNode& node, const Spot& spot);
  bool check_entered(const SchemaNode& node, const Spot& spot);
  bool check_parts(const SchemaNode& node, const Spot& spot);
  [[gnu::noinline]] bool check_unevaluated(const SchemaNode& node, const Spot& spot);
  bool check_type(const SchemaNode& node, const Spot& spot);
  bool check_value(const SchemaNode& node, const Spot& spot);
  bool check_number(const SchemaNode& node, const Spot& spot);
  bool check_string(const SchemaNode& node, const Spot& spot, std::string_view text);
  bool check_array(const SchemaNode& node, const Spot& spot);
  [[gnu::noinline]] bool check_contains(const SchemaNode& node, const Spot& spot);
  bool check_object(const SchemaNode& node, const Spot& spot);
  bool check_members(const SchemaNode& node, const Spot& spot, PositionSet& seen);
  [[gnu::noinline]] bool check_name(const SchemaNode& node, const Spot& spot,
                                    std::string_view name);
  bool check_logic(const SchemaNode& node, const Spot& spot);
  bool check_any(const SchemaNode& node, const Spot& spot);
  bool check_one(const SchemaNode& node, const Spot& spot);
  [[gnu::noinline]] bool check_condition(const SchemaNode& node, const Spot& spot);
  [[gnu::noinline]] bool check_dynamic(const DynamicRef& ref, const Spot& spot);

  bool child(const SchemaNode& schema, const SchemaNode& by, std::string_view keyword, View value,
             const Step& step, const Spot& spot);
  /// The only alternative that takes values of this type, if there is only one.
  const SchemaNode* only_fit(const std::vector<const SchemaNode*>& alternatives, View value);
  bool branch(const SchemaNode& node, const Spot& spot);

  /// True if there is no point in looking for more violations.
  bool enough(const Spot& spot) const noexcept {
    return !spot.loud || meter_.spent() || too_deep_ ||
           violations_->size() >= program_.max_violations;
  }
  bool holds(const Format& format, std::string_view text);
  bool matches(const Pattern& pattern, std::string_view text);
  /// Always false. The message is made by a function, and that in a frame of its own: strings in
  /// the functions that call each other would cost every level of nesting a good part of a
  /// kilobyte.
  template <class Message>
  [[gnu::noinline]] bool fail(const Spot& spot, const SchemaNode& node, std::string_view keyword,
                              const Message& message) {
    // Without budget every answer is "no", which means nothing.
    if (spot.loud && !enough(spot)) tell(spot, node, keyword, message());
    return false;
  }
  void tell(const Spot& spot, const SchemaNode& node, std::string_view keyword,
            std::string message);

  const SchemaProgram& program_;
  std::vector<Violation>* violations_;
  Meter meter_;
  std::size_t depth_ = 0;
  bool too_deep_ = false;
  /// Member names as values, for propertyNames.
  std::optional<Document> name_document_;
};

}  // namespace godwit::inline v0::json::detail
