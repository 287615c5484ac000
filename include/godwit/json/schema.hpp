// Schema: a JSON Schema (draft 2020-12 or draft 7), compiled once and used to validate many times.
// Immutable and cheap to copy; any number of threads may validate with the same one at once.
//
// Nothing is ever fetched: a $ref finds the schema itself, the metaschemas, or a document given in
// the options. Every cost that a hostile schema or instance could drive up has a budget.
//
//   auto schema = json::Schema::compile(*json::parse(R"({"properties":{"days":{"maximum":10}}})"));
//   json::Validation result = schema->validate(json::Object{{"days", 12}});
//   result.text();   // "/days: maximum: 12 is more than 10"
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json {

enum class Draft : std::uint8_t { draft7, draft2020_12 };

struct SchemaOptions {
  /// For a schema that does not say it with "$schema".
  Draft draft = Draft::draft2020_12;
  /// True: "format" is checked. False: it is a remark, as the specification wants it by default.
  bool assert_formats = false;
  /// Who wrote the schema. This program: a pattern that cannot be translated is an error. A peer:
  /// that keyword is skipped and warnings() says so; the cost of its patterns is counted strictly.
  bool trusted = true;
  /// Further documents for $ref and $schema, by absolute URI. Only what is referred to is read.
  std::vector<std::pair<std::string, Value>> documents{};

  /// Size of the schema (and of each document that is read), roughly its JSON text. Written schemas
  /// stay far below; the largest known protocol schema has 180 KB.
  std::size_t schema_bytes = 256u << 10;
  /// Schemas nested in schemas. Nobody writes more; nesting is what makes evaluation expensive.
  std::size_t schema_depth = 64;
  /// Subschemas of everything that is read.
  std::size_t subschemas = 10'000;
  /// Memory that all patterns of the schema may use together while matching; a quarter of it if the
  /// schema is not trusted. A usual pattern counts 128 KiB.
  std::size_t pattern_bytes = 32u << 20;
  /// Work of one validation; a step is about one subschema applied to one value (some 20 ns). Raise
  /// it to validate instances of several megabytes.
  std::uint64_t steps = 1'000'000;
  /// Subschemas applied inside one another, through $ref too. Each takes up to 1 KiB of stack; four
  /// per level of the deepest instance that is parsed by default.
  std::size_t nesting = 512;
  /// Violations that validate() lists before it stops looking.
  std::size_t violations = 32;
};

/// One reason why an instance is not valid.
struct Violation {
  /// JSON Pointer to the value in the instance; "" is the instance itself.
  std::string path{};
  /// The keyword that failed, "false" for the schema `false`, or "budget" if validation gave up.
  std::string keyword{};
  /// For people: "12 is more than 10".
  std::string message{};
  /// Where the keyword stands: JSON Pointer into the schema, or URI#pointer in another document.
  std::string schema_path{};

  bool operator==(const Violation&) const = default;
  /// "/days: maximum: 12 is more than 10"; without the path for the instance itself.
  GODWIT_API std::string text() const;
};

/// What validate() found out.
class GODWIT_API Validation {
 public:
  Validation() = default;
  explicit Validation(std::vector<Violation> violations) : violations_(std::move(violations)) {}

  bool ok() const noexcept { return violations_.empty(); }
  explicit operator bool() const noexcept { return ok(); }
  /// In the order they were found; none if the instance is valid.
  const std::vector<Violation>& violations() const noexcept { return violations_; }
  /// The violations, one per line; empty if the instance is valid.
  std::string text() const;

 private:
  std::vector<Violation> violations_;
};

namespace detail {
struct SchemaProgram;
}

class GODWIT_API Schema {
 public:
  /// Reads the schema. The error names the place and what is wrong there: a keyword of the wrong
  /// shape, a $ref that leads nowhere, an unknown dialect, a schema that loops, a broken budget.
  static Result<Schema> compile(const Value& schema, const SchemaOptions& options = {});

  /// All violations, up to SchemaOptions::violations. An instance too costly to validate is not
  /// valid: the keyword of its only violation is "budget".
  /// A member name that occurs twice counts twice: each of its values must be valid.
  Validation validate(View instance) const;
  /// The same, by way of JSON text.
  Validation validate(const Value& instance) const;

  /// Only yes or no: stops at the first violation and in the ordinary case allocates nothing.
  bool valid(View instance) const;
  bool valid(const Value& instance) const;

  /// What was skipped of a schema that is not trusted: one sentence each.
  const std::vector<std::string>& warnings() const noexcept;

 private:
  explicit Schema(std::shared_ptr<const detail::SchemaProgram> program) noexcept
      : program_(std::move(program)) {}

  std::shared_ptr<const detail::SchemaProgram> program_;
};

}  // namespace godwit::inline v0::json
