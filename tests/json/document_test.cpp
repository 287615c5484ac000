#include "godwit/json/document.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/value.hpp"

namespace godwit::inline v0::json {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

bool accepts(std::string_view text, const ParseOptions& options = {}) {
  Document document;
  return document.parse(text, options).has_value();
}

// "-0" as an integer is what simdjson cannot keep, so a text that holds one takes the strict
// parser; the same text with 0 takes the fast one.
std::string fast(std::string_view text) { return "[" + std::string(text) + ",0]"; }
std::string strict(std::string_view text) { return "[" + std::string(text) + ",-0]"; }

const std::vector<std::string>& good_texts() {
  static const std::vector<std::string> texts = {
      "[]",
      "{}",
      "[[],{},[[]],[{}]]",
      R"("")",
      R"("plain")",
      R"("\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC\ud834\udd1e")",
      "\"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e\"",
      "[true,false,null]",
      "[0]",
      "[-0]",
      "[-0.0,0.0,1.0,-1.5]",
      "[1e5,1E5,1e+5,1e-5,0e0]",
      "[9223372036854775807,-9223372036854775808,18446744073709551615]",
      "[18446744073709551616,-9223372036854775809]",
      "[123456789012345678901234567890123456789012345678901234567890]",
      "[1.7976931348623157e308,5e-324,2.2250738585072014e-308,1e-400,-1e-400]",
      R"({"a":1})",
      R"({"a":{"b":{"c":[1,2,3]}}})",
      R"({"":"","a b":"\u0000"})",
      R"({"a":1,"a":2})",
      " [ 1 , 2 ] ",
      "\t\r\n{ \"a\" :\n[ ] }\r\n",
      R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"message":"hello"}})",
      R"({"jsonrpc":"2.0","id":"f81d4fae-0dec-11d0-a765-00a0c91e6bf6","result":null})",
      R"([{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":null,"method":"b","params":[]}])",
      R"(["a string that is longer than one block of sixteen or thirty-two or sixty-four bytes"])",
      R"(["2024-01-02T03:04:05-00:00","-0","- 0","x-0,"])",
      R"([[[[[[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]]]]])",
      R"({"a":[{"b":[{"c":[{"d":[{"e":[{"f":[{}]}]}]}]}]}]})",
      "[1,22,333,4444,55555,666666,7777777,88888888,999999999,1010101010,11111111111]",
  };
  return texts;
}

TEST(Document, TakesGoodTextOnBothPaths) {
  for (const std::string& text : good_texts()) {
    SCOPED_TRACE(text);
    ASSERT_TRUE(accepts(text));
    const auto quick = parse(fast(text));
    const auto exact = parse(strict(text));
    ASSERT_TRUE(quick) << quick.error().message;
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_EQ((*quick)[0], (*exact)[0]);
    EXPECT_EQ((*quick)[0].dump(), (*exact)[0].dump());
  }
}

// The search for it looks at whole blocks: it must not matter where in the text it stands.
TEST(Document, KeepsNegativeZeroWhereverItStands) {
  Document document;
  for (std::size_t before = 0; before < 150; ++before) {
    for (const std::size_t after : {0u, 1u, 7u, 15u, 16u, 63u, 64u, 65u}) {
      for (const char* minus : {"", "-", "-07-2", "x-0y"}) {
        const std::string text =
            "[\"" + std::string(before, 'a') + minus + "\",-0" + std::string(after, ' ') + "]";
        const auto root = document.parse(text);
        ASSERT_TRUE(root) << text;
        EXPECT_TRUE(root->at(1).is_real()) << text;
        EXPECT_EQ(Value(*root).dump().find(",-0"), 3 + before + std::string_view(minus).size())
            << text;
      }
    }
  }
}

TEST(Document, RefusesEveryTruncation) {
  Document document;
  for (const std::string& text : good_texts()) {
    const std::string_view whole =
        std::string_view(text).substr(0, text.find_last_not_of(" \r\n") + 1);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      SCOPED_TRACE(text.substr(0, length));
      EXPECT_FALSE(document.parse(whole.substr(0, length)));
      // Of half a character or half a surrogate pair the beginning is named, else the very end.
      const std::string& message = document.failure().message;
      if (message.find("UTF-8") == std::string::npos &&
          message.find("surrogate") == std::string::npos) {
        EXPECT_EQ(document.failure().offset, length) << message;
      } else {
        EXPECT_LT(document.failure().offset, length) << message;
      }
      EXPECT_FALSE(document.root());
      // In place, the missing rest lies right behind the end and must not be read as part of it.
      const std::string padded = text + std::string(Document::padding, ']');
      EXPECT_FALSE(
          document.parse(std::string_view(padded).substr(0, length), {}, padded.size() - length));
    }
  }
}

TEST(Document, TruncatedScalarsInPlaceDoNotReadOn) {
  const std::string text = "1234567" + std::string(Document::padding, ' ');
  Document document;
  for (std::size_t length = 1; length <= 7; ++length) {
    const auto root =
        document.parse(std::string_view(text).substr(0, length), {}, text.size() - length);
    ASSERT_TRUE(root);
    EXPECT_EQ(root->as_int64(), std::stoll(text.substr(0, length)));
  }
  const std::string word = "true" + std::string(Document::padding, 'e');
  EXPECT_FALSE(document.parse(std::string_view(word).substr(0, 3), {}, word.size() - 3));
  EXPECT_TRUE(document.parse(std::string_view(word).substr(0, 4), {}, word.size() - 4));
}

struct Broken {
  std::string_view text;
  std::size_t offset;
  std::size_t line;
  std::size_t column;
  std::string_view says;
};

TEST(Document, ErrorsNameThePlace) {
  const Broken table[] = {
      {"", 0, 1, 1, "expected a value, but the text ends here"},
      {"  \n ", 4, 2, 2, "expected a value, but the text ends here"},
      {"]", 0, 1, 1, "expected a value, got ']'"},
      {"[1,]", 3, 1, 4, "expected a value, got ']'"},
      {"[,1]", 1, 1, 2, "expected a value, got ','"},
      {"[1 2]", 3, 1, 4, "expected ',' or ']', got '2'"},
      {"[1}", 2, 1, 3, "expected ',' or ']', got '}'"},
      {"[1", 2, 1, 3, "expected ',' or ']', but the text ends here"},
      {"{\"a\":1,}", 7, 1, 8, "expected a member name in double quotes, got '}'"},
      {"{\"a\" 1}", 5, 1, 6, "expected ':' after the member name, got '1'"},
      {"{\"a\":}", 5, 1, 6, "expected a value, got '}'"},
      {"{\"a\":1]", 6, 1, 7, "expected ',' or '}', got ']'"},
      {"{a:1}", 1, 1, 2, "expected a member name in double quotes, got 'a'"},
      {"{'a':1}", 1, 1, 2, "expected a member name in double quotes, got '''"},
      {"{1:1}", 1, 1, 2, "expected a member name in double quotes, got '1'"},
      {"[\n  1,\n  x\n]", 9, 3, 3, "expected a value, got 'x'"},
      {"[\r\n\r\n x]", 6, 3, 2, "expected a value, got 'x'"},
      {"[1] x", 4, 1, 5, "expected nothing after the value, got 'x'"},
      {"[1]\n\n[2]", 5, 3, 1, "expected nothing after the value, got '['"},
      {"[1]\0"sv, 3, 1, 4, "expected nothing after the value, got byte 0x00"},
      {"[tru]", 4, 1, 5, "expected the word true, got ']'"},
      {"[falsy]", 5, 1, 6, "expected the word false, got 'y'"},
      {"nul", 3, 1, 4, "expected the word null, but the text ends here"},
      {"[truee]", 5, 1, 6, "expected ',' or ']', got 'e'"},
      {"[NaN]", 1, 1, 2, "expected a value, got 'N'"},
      {"[Infinity]", 1, 1, 2, "expected a value, got 'I'"},
      {"[-Infinity]", 2, 1, 3, "expected a digit, got 'I'"},
      {"[+1]", 1, 1, 2, "expected a value, got '+'"},
      {"[.5]", 1, 1, 2, "expected a value, got '.'"},
      {"[-]", 2, 1, 3, "expected a digit, got ']'"},
      {"[1.]", 3, 1, 4, "expected a digit after the decimal point, got ']'"},
      {"[1e]", 3, 1, 4, "expected a digit of the exponent, got ']'"},
      {"[1e+]", 4, 1, 5, "expected a digit of the exponent, got ']'"},
      {"[01]", 2, 1, 3, "must not begin with 0"},
      {"[-012]", 3, 1, 4, "must not begin with 0"},
      {"[0x1]", 2, 1, 3, "expected ',' or ']', got 'x'"},
      {"[1, 1e400]", 4, 1, 5, "1e400 is beyond the range of a double"},
      {"[-1e400]", 1, 1, 2, "-1e400 is beyond the range of a double"},
      {"\"abc", 4, 1, 5, "the text ends inside a string"},
      {"\"abc\\", 5, 1, 6, "the text ends inside a string"},
      {"[\"a\tb\"]", 3, 1, 4, "a control character in a string must be escaped (byte 0x09)"},
      {"[\"a\nb\"]", 3, 1, 4, "a control character in a string must be escaped (byte 0x0a)"},
      {"[\"a\0b\"]"sv, 3, 1, 4, "a control character in a string must be escaped (byte 0x00)"},
      {"[\"\\x\"]", 3, 1, 4, "after a backslash, got 'x'"},
      {"[\"\\u12g4\"]", 6, 1, 7, "expected four hexadecimal digits after \\u, got 'g'"},
      {"[\"ab\\ud800\"]", 4, 1, 5, "a high surrogate escape without its low half"},
      {"[\"\\ud800\\n\"]", 2, 1, 3, "a high surrogate escape without its low half"},
      {"[\"\\ud800\\ud800\"]", 2, 1, 3, "a high surrogate escape without its low half"},
      {"[\"\\udc00\"]", 2, 1, 3, "a low surrogate escape without its high half"},
      {"[\"\\udc00\\ud800\"]", 2, 1, 3, "a low surrogate escape without its high half"},
      {"[\"ab\xff\"]", 4, 1, 5, "invalid UTF-8 in a string (byte 0xff)"},
      {"[\"\xc3\xa9\xc3\"]", 4, 1, 5, "invalid UTF-8 in a string (byte 0xc3)"},
      {"\xef\xbb\xbf{}", 0, 1, 1, "a byte order mark is not JSON"},
      {"\xc3\xa9", 0, 1, 1, "expected a value, got byte 0xc3"},
      {"[1] // no comments", 4, 1, 5, "expected nothing after the value, got '/'"},
      {"[/* none */ 1]", 1, 1, 2, "expected a value, got '/'"},
  };
  Document document;
  for (const Broken& broken : table) {
    SCOPED_TRACE(broken.text);
    const auto result = document.parse(broken.text);
    ASSERT_FALSE(result);
    const ParseError& failure = document.failure();
    EXPECT_EQ(failure.offset, broken.offset);
    EXPECT_EQ(failure.line, broken.line);
    EXPECT_EQ(failure.column, broken.column);
    EXPECT_NE(failure.message.find(broken.says), std::string::npos) << failure.message;
    EXPECT_EQ(result.error(), failure.to_error());
  }
}

TEST(Document, TheErrorIsAJsonRpcParseError) {
  const auto result = parse("{\n \"a\": x}");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, -32700);
  EXPECT_EQ(result.error().message, "line 2, column 7 (byte 8): expected a value, got 'x'");
  EXPECT_EQ(result.error().data, R"({"offset":8,"line":2,"column":7})");
}

TEST(Document, FailureIsForgottenByTheNextParse) {
  Document document;
  EXPECT_FALSE(document.root());
  EXPECT_EQ(document.failure(), ParseError());
  EXPECT_FALSE(document.parse("[\n1,"));
  EXPECT_EQ(document.failure().line, 2u);
  EXPECT_TRUE(document.parse("[1]"));
  EXPECT_EQ(document.failure(), ParseError());
  EXPECT_TRUE(document.root());
}

std::string nested(std::size_t depth, int shape, bool empty) {
  std::string open;
  std::string close;
  for (std::size_t i = 0; i < depth; ++i) {
    const bool object = shape == 1 || (shape == 2 && i % 2 == 0);
    const bool innermost = i + 1 == depth;
    open += object ? (innermost && empty ? "{" : "{\"a\":") : "[";
    close.insert(0, object ? "}" : "]");
  }
  return open + (empty ? "" : "1") + close;
}

TEST(Document, DepthLimit) {
  for (const int shape : {0, 1, 2}) {
    for (const bool empty : {false, true}) {
      for (const std::size_t limit : {1u, 2u, 3u, 127u, 128u, 129u, 500u}) {
        for (const std::size_t depth : {limit - 1, limit, limit + 1, limit + 2}) {
          if (depth == 0) continue;
          SCOPED_TRACE(testing::Message() << "shape " << shape << " empty " << empty << " limit "
                                          << limit << " depth " << depth);
          const ParseOptions options{.depth = limit};
          const std::string text = nested(depth, shape, empty);
          EXPECT_EQ(accepts(text, options), depth <= limit);
          // One more level around it, on each of the paths.
          EXPECT_EQ(accepts(fast(text), options), depth + 1 <= limit);
          EXPECT_EQ(accepts(strict(text), options), depth + 1 <= limit);
        }
      }
    }
  }
  Document document;
  EXPECT_TRUE(document.parse(nested(128, 0, true)));
  EXPECT_FALSE(document.parse(nested(129, 0, true)));
  EXPECT_EQ(document.failure().offset, 128u);
  EXPECT_EQ(document.failure().message, "nested deeper than 128 levels");
}

TEST(Document, DepthZeroAllowsScalarsOnly) {
  const ParseOptions none{.depth = 0};
  EXPECT_TRUE(accepts("1", none));
  EXPECT_TRUE(accepts("\"a\"", none));
  EXPECT_FALSE(accepts("", none));
  EXPECT_FALSE(accepts("[]", none));
  EXPECT_FALSE(accepts("{}", none));
  EXPECT_FALSE(accepts("[1]", none));
}

TEST(Document, DepthWithoutBound) {
  const ParseOptions any{.depth = std::numeric_limits<std::size_t>::max()};
  EXPECT_TRUE(accepts(nested(5'000, 2, false), any));
  EXPECT_FALSE(accepts(nested(5'000, 2, false) + "]", any));
}

TEST(Document, ManyOpenBracketsAreRefusedQuickly) {
  for (const std::string_view open : {"["sv, "{\"a\":"sv}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    const auto begin = std::chrono::steady_clock::now();
    Document document;
    EXPECT_FALSE(document.parse(text));
    EXPECT_EQ(document.failure().offset, 128 * open.size());
    // Generous: it takes about a millisecond.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  }
}

TEST(Document, BoundsOfMembersItemsAndNames) {
  struct Case {
    ParseOptions options;
    std::string_view text;
    bool good;
    std::size_t offset;
    std::string_view says;
  };
  const Case table[] = {
      {{.members = 3}, R"({"a":1,"b":2})", true, 0, ""},
      {{.members = 3}, R"({"a":1,"b":2,"c":3})", true, 0, ""},
      {{.members = 3}, R"({"a":1,"b":2,"c":3,"d":4})", false, 19, "more than 3 members"},
      {{.members = 1}, R"([{"a":{"":1, "b":2}}])", false, 13, "more than 1 members"},
      {{.members = 3}, "[1,2,3,4,5,6,7,8,9]", true, 0, ""},
      {{.items = 3}, "[1,2]", true, 0, ""},
      {{.items = 3}, "[1,2,3]", true, 0, ""},
      {{.items = 3}, "[1,2,3,4]", false, 7, "more than 3 items"},
      {{.items = 1}, "[[[1,2]]]", false, 5, "more than 1 items"},
      {{.items = 3}, R"({"a":1,"b":2,"c":3,"d":4})", true, 0, ""},
      {{.key_bytes = 3}, R"({"ab":1})", true, 0, ""},
      {{.key_bytes = 3}, R"({"abc":1})", true, 0, ""},
      {{.key_bytes = 3}, R"({"abcd":1})", false, 1, "a member name is longer than 3 bytes"},
      {{.key_bytes = 3}, R"([{"a":{"\u20ac":"abcd"}}])", true, 0, ""},
      {{.key_bytes = 3}, R"([{"a":{"\u20acx":1}}])", false, 7, "longer than 3 bytes"},
      {{.key_bytes = 30}, R"({"123456789012345678901234567890":1})", true, 0, ""},
      {{.key_bytes = 30}, R"({"1234567890123456789012345678901":1})", false, 1, "30 bytes"},
      {{.number_chars = 4}, "[123]", true, 0, ""},
      {{.number_chars = 4}, "[1234,1.25,-123,1e-1]", true, 0, ""},
      {{.number_chars = 4}, "[12345]", false, 1, "a number has more than 4 characters"},
      {{.number_chars = 4}, "[1,-1234]", false, 3, "a number has more than 4 characters"},
      {{.number_chars = 4}, "[1.234]", false, 1, "a number has more than 4 characters"},
      {{.number_chars = 4}, "12345", false, 0, "a number has more than 4 characters"},
      {{.number_chars = 4}, R"(["1234567890"])", true, 0, ""},
      {{.number_chars = 0}, "[12345678901234567890123]", true, 0, ""},
  };
  for (const Case& c : table) {
    SCOPED_TRACE(c.text);
    Document document;
    EXPECT_EQ(document.parse(c.text, c.options).has_value(), c.good);
    EXPECT_EQ(document.failure().offset, c.offset);
    EXPECT_NE(document.failure().message.find(c.says), std::string::npos)
        << document.failure().message;
    EXPECT_EQ(bool(document.root()), c.good);
    // The strict path says the same, one byte further on.
    ParseOptions wider = c.options;
    if (wider.items == 1) continue;  // the wrapper has two items itself
    EXPECT_EQ(document.parse(strict(c.text), wider).has_value(), c.good);
    if (!c.good) {
      EXPECT_EQ(document.failure().offset, c.offset + 1);
    }
  }
}

TEST(Document, LongNumbersAreBoundedWhereverTheyStand) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t length = 15; length <= 18; ++length) {
      const std::string text = "[" + std::string(before, ' ') + std::string(length, '7') + "]";
      EXPECT_EQ(accepts(text, {.number_chars = 16}), length <= 16) << text;
    }
  }
  // The default bound, and the largest number it lets through.
  EXPECT_TRUE(accepts(std::string(1'100, '9')));
  EXPECT_FALSE(accepts(std::string(1'101, '9')));
  EXPECT_TRUE(accepts("0." + std::string(1'098, '1')));
  EXPECT_FALSE(accepts("0." + std::string(1'099, '1')));
}

TEST(Document, BoundsFromLimits) {
  const ParseOptions options = ParseOptions::from(Limits());
  EXPECT_EQ(options.depth, 128u);
  EXPECT_EQ(options.members, 10'000u);
  EXPECT_EQ(options.items, 1'000'000u);
  EXPECT_EQ(options.key_bytes, 8u << 10);
  EXPECT_EQ(options.number_chars, 1'100u);
  EXPECT_FALSE(options.refuse_duplicates);
  const auto object = [](int members) {
    std::string text = "{";
    for (int i = 0; i < members; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
    return text + "}";
  };
  EXPECT_TRUE(accepts(object(10'000), options));
  EXPECT_FALSE(accepts(object(10'001), options));
}

TEST(Document, DuplicatesAreAcceptedUnlessRefused) {
  const ParseOptions refuse{.refuse_duplicates = true};
  const std::string_view texts[] = {
      R"({"a":1,"a":2})", R"({"a":1,"b":2,"\u0061":2})",    R"([0,{"x":{"a":1,"a":1}}])",
      R"({"":1,"":2})",   "{\"\xc3\xa9\":1,\"\\u00e9\":2}",
  };
  for (const std::string_view text : texts) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(accepts(text));
    EXPECT_FALSE(accepts(text, refuse));
    EXPECT_FALSE(accepts(strict(text), refuse));
  }
  // Names compare byte for byte: no case folding, no normalisation.
  EXPECT_TRUE(accepts(R"({"a":1,"A":2})", refuse));
  EXPECT_TRUE(accepts(R"({"\u00e9":1,"e\u0301":2})", refuse));
  EXPECT_TRUE(accepts(R"([{"a":1},{"a":1}])", refuse));
  EXPECT_TRUE(accepts(R"({"a":{"a":{"a":1}}})", refuse));

  Document document;
  EXPECT_FALSE(document.parse("[\n {\"a\":1,\"a\":2}]", refuse));
  EXPECT_EQ(document.failure().message, R"(the member "a" occurs twice in this object)");
  EXPECT_EQ(document.failure().line, 2u);
  EXPECT_EQ(document.failure().column, 2u);

  const auto value = parse(R"({"a":1,"b":2,"a":3,"c":4,"b":5})");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->dump(), R"({"a":3,"b":5,"c":4})");
}

TEST(Document, DuplicatesAmongManyMembers) {
  for (const int count : {15, 16, 17, 18, 1000}) {
    for (const int twice : {0, count / 2, count - 1}) {
      std::string text = "{";
      for (int i = 0; i < count; ++i)
        text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
      const std::string unique = text + "\"last\":0}";
      text += "\"k" + std::to_string(twice) + "\":\"again\"}";
      const ParseOptions refuse{.refuse_duplicates = true};
      EXPECT_TRUE(accepts(unique, refuse));
      EXPECT_FALSE(accepts(text, refuse));
      const auto value = parse(text);
      ASSERT_TRUE(value);
      EXPECT_EQ(value->size(), static_cast<std::size_t>(count));
      EXPECT_EQ((*value)["k" + std::to_string(twice)], "again");
    }
  }
}

TEST(Document, EachByteAfterAValue) {
  Document document;
  for (const std::string_view value :
       {"[]"sv, "{}"sv, "\"a\""sv, "1"sv, "1.5"sv, "-0"sv, "true"sv, "null"sv, "[1,2]"sv}) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      std::string text(value);
      text += c;
      const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      const bool digit = c >= '0' && c <= '9';
      const bool continues = (digit && (value == "1" || value == "1.5"));
      SCOPED_TRACE(testing::Message() << value << " then byte " << byte);
      EXPECT_EQ(document.parse(text).has_value(), space || continues);
      // The same byte after white space, and in place.
      text.insert(text.size() - 1, " ");
      EXPECT_EQ(document.parse(text).has_value(), space);
      const std::string padded = text + std::string(Document::padding, '\0');
      EXPECT_EQ(
          document.parse(std::string_view(padded).substr(0, text.size()), {}, Document::padding)
              .has_value(),
          space);
      EXPECT_EQ(document.parse(std::string(1, c) + std::string(value)).has_value(),
                space || (c == '-' && (value == "1" || value == "1.5")) ||
                    (c >= '1' && c <= '9' && (value == "1" || value == "1.5")))
          << "in front";
    }
  }
}

TEST(Document, InPlaceAndCopiedAgree) {
  Document copying;
  Document in_place;
  for (const std::string& text : good_texts()) {
    SCOPED_TRACE(text);
    const std::string padded = text + std::string(Document::padding, '#');
    const auto copied = copying.parse(text);
    const auto placed =
        in_place.parse(std::string_view(padded).substr(0, text.size()), {}, Document::padding);
    ASSERT_TRUE(copied);
    ASSERT_TRUE(placed);
    EXPECT_EQ(Value(*copied), Value(*placed));
    EXPECT_EQ(copied->source(), placed->source());
    EXPECT_GE(placed->source().data(), padded.data());
    EXPECT_LE(placed->source().data(), padded.data() + text.size());
  }
  // One byte too few behind the text: it is copied.
  const std::string text = "[1]" + std::string(Document::padding - 1, ' ');
  const auto root = in_place.parse(std::string_view(text).substr(0, 3), {}, Document::padding - 1);
  ASSERT_TRUE(root);
  EXPECT_NE(root->source().data(), text.data());
}

TEST(Document, OneDocumentTakesManyTexts) {
  Document document;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& text : good_texts()) {
      const auto root = document.parse(text);
      ASSERT_TRUE(root) << text;
      EXPECT_EQ(Value(*root), *parse(text));
      EXPECT_FALSE(document.parse(text + "]"));
      EXPECT_FALSE(document.root());
    }
    const std::string large = "[\"" + std::string(100'000, 'x') + "\"]";
    ASSERT_TRUE(document.parse(large));
    EXPECT_EQ(document.root().at(0).as_string()->size(), 100'000u);
  }
}

TEST(Document, TakesAPartOfItsOwnLastText) {
  Document document;
  auto root = document.parse(R"({"inner":{"a":[1,2,{"b":3}]}})");
  ASSERT_TRUE(root);
  root = document.parse(root->find("inner").source());
  ASSERT_TRUE(root);
  EXPECT_EQ(Value(*root).dump(), R"({"a":[1,2,{"b":3}]})");
  root = document.parse(root->find("a").at(2).source());
  ASSERT_TRUE(root);
  EXPECT_EQ(Value(*root).dump(), R"({"b":3})");

  // JSON inside a string of the last text.
  root = document.parse(R"(["{\"c\":[4,5,6]}"])");
  ASSERT_TRUE(root);
  root = document.parse(*root->at(0).as_string());
  ASSERT_TRUE(root);
  EXPECT_EQ(Value(*root).dump(), R"({"c":[4,5,6]})");
}

TEST(Document, MovesWithItsViews) {
  Document first;
  const auto root = first.parse("[1,2,3]");
  ASSERT_TRUE(root);
  Document second(std::move(first));
  EXPECT_EQ(root->size(), 3u);
  EXPECT_EQ(Value(second.root()), Value(*root));
}

TEST(Document, TextBeyondFourGibibytesIsRefused) {
  // Refused by its size alone: nothing behind the pointer is read.
  const std::string_view huge("[]", std::size_t{1} << 32);
  Document document;
  EXPECT_FALSE(document.parse(huge, {}, Document::padding));
  EXPECT_EQ(document.failure().message, "the text is larger than 4 GiB");
}

}  // namespace
}  // namespace godwit::inline v0::json
