#include "godwit/json/decode.hpp"

#include <algorithm>
#include <limits>

#include "godwit/json/writer.hpp"

namespace godwit::inline v0::json {

namespace {

/// The beginning of a text, not cut inside a UTF-8 sequence.
std::string_view beginning(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return text.substr(0, longest);
}

/// A name as it is shown in a sentence.
std::string shown_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  return quote(beginning(name, longest)) + (name.size() > longest ? "…" : "");
}

/// What came, in a few words: scalars with their value, cut short.
std::string shown(View view) {
  constexpr std::size_t longest = 60;
  if (!view) return "nothing";
  switch (view.type()) {
    case Type::object:
      return "an object";
    case Type::array:
      return "an array of " + std::to_string(view.size());
    case Type::string: {
      std::string_view text = *view.as_string();
      if (text.size() <= longest) return quote(text);
      return quote(beginning(text, longest)) + "… (" + std::to_string(text.size()) + " bytes)";
    }
    default: {
      std::string out;
      Writer(out).value(view);
      return out.size() <= longest ? out : out.substr(0, longest) + "…";
    }
  }
}

std::string list(std::span<const std::string_view> names) {
  constexpr std::size_t most = 20;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    if (i > 0) out += ", ";
    out += quote(names[i]);
  }
  if (names.size() > most) out += ", …";
  return out;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string characters(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " character" : " characters");
}

std::string plain(double value) {
  std::string out;
  if (const auto whole = Value(value).as_int64()) {
    Writer(out).value(*whole);
  } else {
    Writer(out).value(value);
  }
  return out;
}

}  // namespace

bool DecodeFailure::expected(std::string_view what, View got) {
  return fail("expected " + std::string(what) + ", got " + shown(got));
}

bool DecodeFailure::fail(std::string message) {
  message_ = std::move(message);
  return false;
}

bool DecodeFailure::missing(std::string_view member, std::string_view about) {
  std::string message = "the member " + quote(member) + " is missing";
  if (!about.empty()) message.append(" (").append(about).append(")");
  return fail(std::move(message));
}

bool DecodeFailure::unknown(std::string_view member, std::span<const std::string_view> known) {
  return fail("unknown member " + shown_name(member) +
              (known.empty() ? "; none is expected" : "; expected only " + list(known)));
}

bool DecodeFailure::twice(std::string_view member) {
  return fail("the member " + shown_name(member) + " occurs twice");
}

bool DecodeFailure::not_in(std::span<const std::string_view> allowed, View got) {
  return expected("one of " + list(allowed), got);
}

bool DecodeFailure::inside(std::string_view member) {
  spend_bytes(member.size() + path_.size());  // a path is made for every attempt that fails
  std::string step = "/";
  for (char c : member) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  path_.insert(0, step);
  return false;
}

bool DecodeFailure::inside(std::size_t item) {
  path_.insert(0, std::to_string(item)).insert(0, 1, '/');
  return false;
}

bool DecodeFailure::no_kind(std::span<const std::string_view> kinds, View got) {
  std::vector<std::string_view> different;
  for (std::string_view kind : kinds) {
    if (std::find(different.begin(), different.end(), kind) == different.end()) {
      different.push_back(kind);
    }
  }
  std::string what;
  for (std::size_t i = 0; i < different.size(); ++i) {
    if (i > 0) what += i + 1 < different.size() ? ", " : " or ";
    what += different[i];
  }
  return expected(what, got);
}

bool DecodeFailure::no_shape(std::span<const DecodeFailure> reasons, View got) {
  constexpr std::size_t most = 5;
  constexpr std::size_t longest = 120;
  std::string message = "expected one of " + std::to_string(reasons.size()) + " shapes, got " +
                        shown(got) + ", which is none of them: ";
  for (std::size_t i = 0; i < reasons.size() && i < most; ++i) {
    if (i > 0) message += "; ";
    const std::string reason = reasons[i].text();
    message += beginning(reason, longest);
    if (reason.size() > longest) message += "…";
  }
  if (reasons.size() > most) message += "; …";
  return fail(std::move(message));
}

DecodeFailure DecodeFailure::take() {
  DecodeFailure reason;
  reason.put(std::move(*this));
  clear();
  return reason;
}

void DecodeFailure::put(DecodeFailure&& reason) noexcept {
  path_ = std::move(reason.path_);
  message_ = std::move(reason.message_);
}

void DecodeFailure::grant(View variant) noexcept {
  // A good text is read a few times over at most. Once per decode for the bytes of the whole text,
  // and for each variant by what it holds, however many there are.
  constexpr std::size_t times = 16;
  steps_ += 64 + times * static_cast<std::uint64_t>(variant.weight());
  if (granted_bytes_ || !variant.tape_) return;
  granted_bytes_ = true;
  constexpr std::size_t small = 1u << 20;
  bytes_ = small + 4 * times * static_cast<std::uint64_t>(variant.tape_->source.size());
}

bool DecodeFailure::spend_all(View view) {
  if (!spend(view.weight())) return false;
  std::size_t bytes = 0;
  for (std::uint32_t end = view.index_ + static_cast<std::uint32_t>(view.weight());
       view.index_ < end;) {
    const char tag = view.tag();
    if (tag == '"' || tag == 'b') bytes += view.text_at(view.index_).size();
    view.index_ += tag == 'l' || tag == 'u' || tag == 'd' ? 2 : 1;
  }
  return spend_bytes(bytes);
}

bool DecodeFailure::give_up() {
  if (!exhausted_) {
    exhausted_ = true;
    path_.clear();
    message_ = "it takes too long to find out which of the possible shapes this is";
  }
  return false;
}

std::string DecodeFailure::text() const {
  // A Codec of the program may have returned false and said nothing.
  const std::string_view message = message_.empty() ? std::string_view("not valid") : message_;
  return path_.empty() ? std::string(message) : path_ + ": " + std::string(message);
}

Error DecodeFailure::to_error() const {
  return Error{.code = -32602, .message = text(), .data = "{\"path\":" + quote(path_) + "}"};
}

void DecodeFailure::clear() {
  path_.clear();
  message_.clear();
}

bool detail::not_whole(View view, std::int64_t lowest, std::uint64_t highest,
                       DecodeFailure& failure) {
  if (!view.is_number() || !view.is_integer()) return failure.expected("an integer", view);
  return failure.expected(
      "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest), view);
}

bool detail::check_number(const Field& field, View view, DecodeFailure& failure) {
  // Exact also where a double would round: long double has at least 64 bits of mantissa.
  long double value = 0;
  if (const auto whole = view.as_int64()) {
    value = static_cast<long double>(*whole);
  } else if (const auto large = view.as_uint64()) {
    value = static_cast<long double>(*large);
  } else if (const auto real = view.as_double()) {
    value = static_cast<long double>(*real);
  } else {
    value = std::numeric_limits<long double>::infinity();
    if (view.big_integer().starts_with('-')) value = -value;
  }
  const bool low = field.minimum && value < *field.minimum;
  const bool high = field.maximum && value > *field.maximum;
  if (!low && !high) return true;
  std::string range;
  if (field.minimum && field.maximum) {
    range = "a number from " + plain(*field.minimum) + " to " + plain(*field.maximum);
  } else if (field.minimum) {
    range = "a number of at least " + plain(*field.minimum);
  } else {
    range = "a number of at most " + plain(*field.maximum);
  }
  return failure.expected(range, view);
}

bool detail::check_text(std::string_view text, const Field& field, View view,
                        DecodeFailure& failure) {
  const std::size_t length = code_points(text);
  if (field.min_length && length < *field.min_length) {
    return failure.expected("at least " + characters(*field.min_length), view);
  }
  if (field.max_length && length > *field.max_length) {
    return failure.expected("at most " + characters(*field.max_length), view);
  }
  return true;
}

}  // namespace godwit::inline v0::json
