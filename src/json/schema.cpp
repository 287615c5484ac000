#include "godwit/json/schema.hpp"

#include "godwit/json/document.hpp"
#include "schema_compiler.hpp"
#include "schema_evaluator.hpp"

namespace godwit::inline v0::json {

namespace {

/// The Value as a document; the View is absent, with the reason, if it cannot be one.
struct Shown {
  Document document;
  Result<View> view;

  explicit Shown(const Value& value) : view(parse(value)) {}

  Result<View> parse(const Value& value) {
    // Built by this program, so of any depth that it could build; beyond this validation gives up.
    constexpr std::size_t deepest = 1'024;
    const std::string text = value.dump();
    return document.parse(text, {.depth = deepest, .number_chars = text.size() + 1});
  }
};

}  // namespace

std::string Violation::text() const {
  std::string out = path.empty() ? "" : path + ": ";
  return out + keyword + ": " + message;
}

std::string Validation::text() const {
  std::string out;
  for (const Violation& violation : violations_) {
    if (!out.empty()) out.push_back('\n');
    out += violation.text();
  }
  return out;
}

Result<Schema> Schema::compile(const Value& schema, const SchemaOptions& options) {
  auto program = detail::compile_schema(schema, options);
  if (!program) return std::move(program).error();
  return Schema(std::move(*program));
}

Validation Schema::validate(View instance) const {
  // Looking for all violations takes other ways than asking for yes or no, and may cost more.
  // Asking first makes both agree, and a valid instance as cheap as it is for valid().
  detail::SchemaEvaluator quick(*program_, nullptr);
  if (quick.run(instance)) return {};
  if (auto exhausted = quick.exhausted()) return Validation({std::move(*exhausted)});
  std::vector<Violation> violations;
  detail::SchemaEvaluator thorough(*program_, &violations);
  thorough.run(instance);
  if (violations.empty()) {
    auto exhausted = thorough.exhausted();
    violations.push_back(exhausted ? std::move(*exhausted)
                                   : Violation{"", "false", "the instance is not valid", ""});
  }
  return Validation(std::move(violations));
}

Validation Schema::validate(const Value& instance) const {
  const Shown shown(instance);
  if (!shown.view) {
    return Validation({{"", "budget", "cannot be validated: " + shown.view.error().message, ""}});
  }
  return validate(*shown.view);
}

bool Schema::valid(View instance) const {
  return detail::SchemaEvaluator(*program_, nullptr).run(instance);
}

bool Schema::valid(const Value& instance) const {
  const Shown shown(instance);
  return shown.view && valid(*shown.view);
}

const std::vector<std::string>& Schema::warnings() const noexcept { return program_->warnings; }

}  // namespace godwit::inline v0::json
