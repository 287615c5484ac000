// Messages of the Model Context Protocol that are almost right, made from the bytes of a fuzzer.
// Each byte is a choice: which message comes next, what its fields say, and here and there what is
// wrong with one of them. A fuzzer that changes a byte changes the conversation, not the spelling,
// so that it gets behind the parser. What both directions need stands here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/json/writer.hpp"

namespace grammar {

using Names = std::initializer_list<std::string_view>;

/// The bytes of the fuzzer, one after the other. Once they are used up every choice is the first.
class Choices {
 public:
  explicit Choices(std::string_view bytes)
      : bytes_(bytes), left_(bytes.size() % 16 == 15 ? 192u << 10 : 4u << 10) {}

  bool empty() const { return bytes_.empty(); }
  /// A number below `count`.
  std::size_t below(std::size_t count) {
    const std::size_t byte = next();
    return count > 256 ? (byte << 8 | next()) % count : byte % count;
  }
  /// True for one byte in `in`, and not for 0.
  bool once_in(std::size_t in) { return next() % in == in - 1; }
  std::string_view of(Names names) { return names.begin()[below(names.size())]; }

  /// How much of something large may still be made. It is little for most inputs, by their length,
  /// so that a fuzzer can try many of them in a second.
  std::size_t large(std::size_t bytes) {
    const std::size_t granted = std::min(bytes, left_);
    left_ -= granted;
    return granted;
  }

 private:
  std::size_t next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  std::string_view bytes_;
  std::size_t left_;
};

inline std::string quoted(std::string_view text) { return godwit::json::quote(text); }

/// Texts that programs stumble over, as JSON.
inline std::string odd_text(Choices& choices) {
  switch (choices.below(12)) {
    case 0:
      return R"("")";
    case 1:
      return R"("\u0000")";
    case 2:
      return R"("\ud83d\ude00\n\r\t\"\\\/")";
    case 3:
      return R"("../../{x}%00%zz?a=b#c")";
    case 4:
      return R"("https://127.0.0.1:1/")";
    case 5:
      return quoted(std::string(choices.large(1'025), 'n'));
    case 6:
      return quoted(std::string(choices.large(8'193), 'u'));
    case 7:
      return quoted(std::string(choices.large(70'000), 'h'));
    case 8:
      return "\"" + std::string(choices.large(9'000), '\\') + "\"";  // mostly not JSON any more
    case 9:
      return "\"\xe2\x80\xa8\xf0\x9d\x84\x9e\"";
    case 10:
      return R"("\ud800")";  // half a surrogate: no JSON
    default:
      return "\"\xff\xfe\"";  // no UTF-8
  }
}

inline std::string odd_number(Choices& choices) {
  switch (choices.below(10)) {
    case 0:
      return "-0";
    case 1:
      return "9223372036854775808";
    case 2:
      return "-9223372036854775809";
    case 3:
      return "18446744073709551616";
    case 4:
      return "1e400";
    case 5:
      return "1.0";
    case 6:
      return "4.9e-324";
    case 7:
      return std::string(choices.large(1'101), '9');
    case 8:
      return "-1";
    default:
      return "0.1";
  }
}

/// The same thing again and again: what costs too much per element shows here. The element is
/// written without the choices of each, which would use up the input.
inline std::string repeated(Choices& choices, const std::string& element) {
  static constexpr std::size_t counts[] = {0, 1, 2, 3, 101, 400, 2'500, 11'000};
  const std::size_t wanted = counts[choices.below(std::size(counts))] * (element.size() + 1);
  const std::size_t count = choices.large(wanted) / (element.size() + 1);
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += element;
  }
  return out + "]";
}

/// An object with many names, which may all be the same.
inline std::string crowd(Choices& choices, const std::string& value) {
  const bool same = choices.below(2) == 1;
  const std::size_t count = choices.large(choices.below(2) == 0 ? 600 : 60'000) / 12;
  std::string out = "{";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += same ? "\"k\":" : "\"k" + std::to_string(i) + "\":";
    out += value;
  }
  return out + "}";
}

inline std::string nested(Choices& choices) {
  const bool list = choices.below(2) == 0;
  const std::size_t depth = choices.below(3) == 0 ? 20 : 60 + choices.below(80);
  const std::string_view open = list ? "[" : R"({"a":)";
  std::string out;
  for (std::size_t i = 0; i < depth; ++i) out += open;
  out += "1";
  out.append(depth, list ? ']' : '}');
  return out;
}

/// Any JSON at all, and sometimes none.
inline std::string anything(Choices& choices) {
  switch (choices.below(12)) {
    case 0:
      return "null";
    case 1:
      return "{}";
    case 2:
      return "[]";
    case 3:
      return "true";
    case 4:
      return odd_text(choices);
    case 5:
      return odd_number(choices);
    case 6:
      return nested(choices);
    case 7:
      return crowd(choices, "{}");
    case 8:
      return repeated(choices, odd_number(choices));
    case 9:
      return repeated(choices, R"({"a":[],"b":{"c":null}})");
    case 10:
      return R"({"_meta":{"progressToken":[]},"type":"text","text":1})";
    default:
      return "nul";
  }
}

/// An object that is written field by field, where something may be wrong with each of them.
class Fields {
 public:
  explicit Fields(Choices& choices) : choices_(choices) {}

  /// As it is.
  Fields& keep(std::string_view name, std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += quoted(name);
    text_ += ':';
    text_ += value;
    return *this;
  }
  /// Once in a while with a fault.
  Fields& add(std::string_view name, std::string_view value) {
    if (!choices_.once_in(29)) return keep(name, value);
    spoilt_ = true;
    switch (choices_.below(9)) {
      case 0:
        return *this;  // missing
      case 1:
        return keep(name, "null");
      case 2:
        return keep(name, anything(choices_));
      case 3:
        return keep(name, value).keep(name, value);
      case 4:
        return keep(name, anything(choices_)).keep(name, value);
      case 5:
        return keep(std::string(name) + "x", value);
      case 6:
        return keep(name, "[" + std::string(value) + "]");
      case 7:
        return keep(name, quoted(value));
      default:
        return keep(name, R"({"a":)" + std::string(value) + "}");
    }
  }
  Fields& add_text(std::string_view name, std::string_view value) {
    return add(name, quoted(value));
  }
  /// Perhaps.
  Fields& may(std::string_view name, std::string_view value) {
    return choices_.below(3) == 1 ? add(name, value) : *this;
  }

  std::string text() const { return text_ + "}"; }
  /// Whether something is wrong with it, at this level.
  bool spoilt() const { return spoilt_; }

 private:
  Choices& choices_;
  std::string text_ = "{";
  bool spoilt_ = false;
};

// What both sides send.

inline std::string revision(Choices& choices) {
  return quoted(choices.of({"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28",
                            "2027-01-01", "", "latest"}));
}

inline std::string role(Choices& choices) {
  return quoted(choices.of({"assistant", "user", "system"}));
}

/// One block of content of any kind; `deep` allows those that hold others.
inline std::string content(Choices& choices, bool deep = true) {
  Fields out(choices);
  switch (choices.below(deep ? 8 : 6)) {
    case 0:
    case 1:
      out.add_text("type", "text").add_text("text", "t");
      break;
    case 2:
      out.add_text("type", "image").add_text("data", "AAAA").add_text("mimeType", "image/png");
      break;
    case 3:
      out.add_text("type", "audio").add_text("data", "AA==").add_text("mimeType", "audio/wav");
      break;
    case 4:
      out.add_text("type", "resource_link").add_text("uri", "a:b").add_text("name", "n");
      break;
    case 5:
      out.add_text("type", "resource")
          .add("resource", Fields(choices).add_text("uri", "a:b").add_text("text", "t").text());
      break;
    default: {
      // The discriminator comes last and parts of both kinds come before, so that a reader who
      // tries one kind after the other has read the rest already.
      const bool result = choices.below(2) == 1;
      const std::string part = choices.below(3) == 2 ? anything(choices) : "{}";
      if (result || choices.below(2) == 1) out.may("structuredContent", part);
      if (!result || choices.below(2) == 1) out.add("input", part);
      if (result) {
        out.add_text("toolUseId", "a").may("isError", "true");
        out.add("content", repeated(choices, content(choices, false)));
      } else {
        out.add_text("id", "a").add_text("name", "n");
      }
      out.add_text("type", result ? "tool_result" : "tool_use");
    }
  }
  out.may("annotations", R"({"audience":["user"],"priority":0.5})");
  out.may("_meta", R"({"a.example/b":1})");
  return out.text();
}

/// One block, or many of the same.
inline std::string contents(Choices& choices) {
  const std::string one = content(choices);
  return choices.below(2) == 0 ? one : repeated(choices, one);
}

inline std::string sampling_answer(Choices& choices) {
  return Fields(choices)
      .add("role", role(choices))
      .add("content", contents(choices))
      .add_text("model", "m")
      .may("stopReason", quoted("endTurn"))
      .text();
}

inline std::string elicitation_answer(Choices& choices) {
  Fields form(choices);
  form.add_text("name", "n").add("sure", "true");
  if (choices.once_in(8)) form.keep("more", anything(choices));
  return Fields(choices)
      .add_text("action", choices.of({"accept", "accept", "decline", "cancel", "maybe"}))
      .may("content", form.text())
      .text();
}

inline std::string roots_answer(Choices& choices) {
  const std::string root =
      Fields(choices).add_text("uri", "file:///w").may("name", quoted("w")).text();
  return Fields(choices).add("roots", repeated(choices, root)).text();
}

/// What a client answers to a question of this method.
inline std::string answer_to(Choices& choices, std::string_view method) {
  if (choices.once_in(16)) return anything(choices);
  if (method == "sampling/createMessage") return sampling_answer(choices);
  if (method == "elicitation/create") return elicitation_answer(choices);
  if (method == "roots/list") return roots_answer(choices);
  return "{}";
}

inline std::string error(Choices& choices) {
  const std::string code(choices.of({"-32601", "-32602", "-32603", "-32000", "-32001", "-32002",
                                     "-32020", "-32021", "-32022", "-32042", "-1", "0"}));
  Fields out(choices);
  out.add("code", choices.once_in(8) ? odd_number(choices) : code).add_text("message", "m");
  out.may("data", R"({"supported":["2026-07-28","2025-11-25"],"requested":"x"})");
  return out.text();
}

/// A message that a byte went wrong in, or that was cut.
inline std::string damaged(Choices& choices, std::string text) {
  if (text.empty()) return text;
  const std::size_t at = (choices.below(256) * 257 + choices.below(256)) % text.size();
  switch (choices.below(3)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text[at] = static_cast<char>(choices.below(256));
      break;
    default:
      text.insert(at, std::string(choices.of({"}", "]", "\"", ",", "{\"", "[", "0"})));
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace grammar
