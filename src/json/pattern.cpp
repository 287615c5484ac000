#include "pattern.hpp"

#include <re2/re2.h>

namespace godwit::inline v0::json::detail {

struct Pattern::Engine {
  Engine(const std::string& text, const re2::RE2::Options& options) : expression(text, options) {}
  re2::RE2 expression;
};

Pattern::Pattern(std::string source, std::unique_ptr<Engine> engine)
    : source_(std::move(source)), engine_(std::move(engine)) {
  const int size = engine_->expression.ProgramSize();
  size_ = size > 0 ? static_cast<std::size_t>(size) : 1;
}

Pattern::~Pattern() = default;

std::unique_ptr<const Pattern> Pattern::compile(std::string_view ecma, std::size_t& memory,
                                                std::string& why) {
  Translation translation = translate_pattern(ecma);
  if (translation.outcome != Translation::Outcome::ok) {
    why = std::move(translation.text);
    return nullptr;
  }
  // Compiling takes about as long as the program is large, so that is estimated before RE2 is
  // asked. An instruction has 16 bytes, is there twice (forwards and backwards), and matching
  // remembers states beside them; the time it took is counted, too.
  constexpr std::size_t least = 128u << 10;
  constexpr std::uint64_t largest = 150'000;
  if (translation.size > largest) {
    why = "it is too large once its repetitions are written out";
    return nullptr;
  }
  const auto instructions = static_cast<std::size_t>(translation.size);
  if (least + instructions * 80 > memory) {
    why = "the patterns of the schema need more memory than is allowed";
    return nullptr;
  }
  memory -= least + instructions * 80;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(static_cast<std::int64_t>(least + instructions * 40));
  auto engine = std::make_unique<Engine>(translation.text, options);
  if (!engine->expression.ok()) {
    why = "it cannot be matched in linear time: " + engine->expression.error();
    return nullptr;
  }
  return std::unique_ptr<const Pattern>(new Pattern(std::string(ecma), std::move(engine)));
}

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), engine_->expression);
}

}  // namespace godwit::inline v0::json::detail
