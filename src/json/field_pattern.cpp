#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "godwit/json/field.hpp"
#include "pattern.hpp"

namespace godwit::inline v0::json::detail {

struct FieldPattern::State {
  std::unique_ptr<const Pattern> pattern;
};

FieldPattern::FieldPattern(std::string_view pattern) : state_(std::make_unique<State>()) {
  std::size_t memory = std::numeric_limits<std::size_t>::max();
  std::string why;
  state_->pattern = Pattern::compile(pattern, memory, why);
  if (state_->pattern) return;
  std::fprintf(stderr, "godwit: the pattern \"%.*s\" of a Field cannot be used: %s\n",
               static_cast<int>(pattern.size()), pattern.data(), why.c_str());
  std::abort();
}

FieldPattern::~FieldPattern() = default;

bool FieldPattern::matches(std::string_view text) const { return state_->pattern->matches(text); }

}  // namespace godwit::inline v0::json::detail
