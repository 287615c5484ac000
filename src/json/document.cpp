#include "godwit/json/document.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "godwit/base/work.hpp"
#include "godwit/json/writer.hpp"
#include "scan.hpp"
#include "strict_parser.hpp"

namespace godwit::inline v0::json {

static_assert(simdjson::SIMDJSON_PADDING <= Document::padding,
              "Document::padding must cover what simdjson reads beyond the text");

namespace {
// Indexes and lengths on the tape have 32 bits; a text of n bytes needs at most n + 3 words.
constexpr std::size_t largest_text = 0xffff'fff0;
// simdjson allocates for the depth that is allowed, not for the one that comes, and does not
// survive it when that is too much.
constexpr std::size_t deepest_fast = 1024;
}  // namespace

Error ParseError::to_error() const {
  Error error{.code = -32700, .message = {}, .data = {}};
  error.message = "line " + std::to_string(line) + ", column " + std::to_string(column) +
                  " (byte " + std::to_string(offset) + "): " + message;
  error.data = "{\"offset\":" + std::to_string(offset) + ",\"line\":" + std::to_string(line) +
               ",\"column\":" + std::to_string(column) + "}";
  return error;
}

struct Document::State {
  simdjson::dom::parser parser;
  std::size_t depth = 0;  // what the parser was allocated for
  detail::StrictTape strict;
  detail::Tape tape;
  bool good = false;
  ParseError failure;
  // A copy of text that came without spare bytes behind it. A plain array: a std::string would have
  // to be told about bytes beyond its size.
  std::unique_ptr<char[]> copy;
  std::size_t copy_capacity = 0;

  std::string_view padded(std::string_view text) {
    if (copy_capacity < text.size() + padding) {
      const std::size_t capacity = text.size() + text.size() / 2 + padding;
      copy = std::make_unique<char[]>(capacity);
      copy_capacity = capacity;  // not before: there may be no memory
    }
    // The text may be a slice of the last one, which lies in this very copy.
    if (!text.empty()) std::memmove(copy.get(), text.data(), text.size());
    std::memset(copy.get() + text.size(), 0, padding);
    return {copy.get(), text.size()};
  }

  /// What was worked out about the last text, for one that comes now.
  void forget_source(std::string_view text) noexcept {
    tape.words = nullptr;
    tape.strings = nullptr;
    tape.source = text;
    if (tape.walked == 0) return;  // nobody asked for the source of a value
    tape.known = {};
    tape.walked = 0;
    if (!tape.places.empty()) std::vector<detail::Place>().swap(tape.places);
  }

  bool fast(std::string_view text, const ParseOptions& options) {
    // What simdjson would take differently from us goes to the strict parser: -0 reads as 0, newer
    // releases skip a byte order mark, and nobody but us bounds the length of numbers.
    if (text.starts_with("\xef\xbb\xbf") || detail::may_hold_negative_zero(text)) return false;
    if (options.number_chars != 0 && text.size() > options.number_chars &&
        detail::may_hold_long_number(text, options.number_chars)) {
      return false;
    }
    // simdjson counts depth by one less for an innermost empty container, so it gets the bound that
    // is never too lax; text right at the limit goes to the strict parser. A bound of none at all
    // would still let an empty one through.
    if (options.depth == 0) return false;
    const std::size_t bound = std::min(options.depth, deepest_fast);
    if (parser.capacity() < text.size() || depth != bound) {
      const std::size_t capacity = std::max<std::size_t>(text.size() + text.size() / 2, 1024);
      depth = bound;
      if (parser.allocate(capacity, bound) != simdjson::SUCCESS) {
        depth = 0;
        return false;
      }
    }
    simdjson::dom::element root;
    if (parser.parse(text.data(), text.size(), false).get(root) != simdjson::SUCCESS) return false;
    tape.words = parser.doc.tape.get();
    tape.strings = reinterpret_cast<const char*>(parser.doc.string_buf.get());
    return true;
  }

  bool strict_path(std::string_view text, const ParseOptions& options) {
    if (auto error = detail::parse_strict(text, options, strict)) {
      failure = std::move(*error);
      return false;
    }
    tape.words = strict.words.data();
    tape.strings = strict.strings.data();
    return true;
  }

  // The bounds that simdjson does not know. A text too short to break one is not walked at all.
  bool bounded(View root, const ParseOptions& options) {
    const std::size_t size = tape.source.size();
    const bool members = options.members != 0 && size > options.members * 4;
    const bool items = options.items != 0 && size > options.items * 2 - 1;
    const bool keys = options.key_bytes != 0 && size > options.key_bytes;
    if (!members && !items && !keys && !options.refuse_duplicates) return true;
    if (check(root, options)) return true;
    // Of a bound that is broken the strict parser knows the exact place.
    if (failure.message.empty()) strict_path(tape.source, options);
    return false;
  }

  // Recursion is bounded by the depth that was just parsed. Leaves the message of a broken bound to
  // the strict parser.
  bool check(View view, const ParseOptions& options) {
    if (view.is_array()) {
      if (options.items != 0 && view.size() > options.items) return false;
      for (View item : view.items()) {
        if ((item.is_array() || item.is_object()) && !check(item, options)) return false;
      }
    } else if (view.is_object()) {
      if (options.members != 0 && view.size() > options.members) return false;
      if (options.refuse_duplicates) {
        if (const auto twice = view.duplicate_key()) {
          return refuse(
              view, "the member " + quote(twice->substr(0, 100)) + " occurs twice in this object");
        }
      }
      for (const auto [key, value] : view.members()) {
        if (options.key_bytes != 0 && key.size() > options.key_bytes) return false;
        if ((value.is_array() || value.is_object()) && !check(value, options)) return false;
      }
    }
    return true;
  }

  bool refuse(View view, std::string message) {
    const auto offset = static_cast<std::size_t>(view.source().data() - tape.source.data());
    failure = detail::locate_error(tape.source, offset, std::move(message));
    return false;
  }
};

Document::Document() = default;
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Result<View> Document::parse(std::string_view text, const ParseOptions& options,
                             std::size_t spare) {
  const godwit::detail::base::Parsing parsing{};
  if (!state_) state_ = std::make_unique<State>();
  State& s = *state_;
  s.good = false;
  if (!s.failure.message.empty()) s.failure = {};
  if (text.size() > largest_text) {
    s.failure.message = "the text is larger than 4 GiB";
    return s.failure.to_error();
  }
  godwit::detail::base::count_work(text.size());
  if (spare < padding) text = s.padded(text);
  s.forget_source(text);
  if (!s.fast(text, options) && !s.strict_path(text, options)) return s.failure.to_error();
  const View view(&s.tape, 1);
  if (!s.bounded(view, options)) return s.failure.to_error();
  s.good = true;
  return view;
}

View Document::root() const noexcept {
  return state_ && state_->good ? View(&state_->tape, 1) : View();
}

const ParseError& Document::failure() const noexcept {
  static const ParseError none;
  return state_ ? state_->failure : none;
}

}  // namespace godwit::inline v0::json
