#include "godwit/json/writer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::json {
namespace {

template <class T>
std::string written(const T& value, bool* lossy = nullptr) {
  std::string out;
  Writer writer(out);
  writer.value(value);
  if (lossy) *lossy = writer.lossy();
  return out;
}

TEST(Writer, PutsCommasAndColons) {
  std::string out = "kept:";
  Writer w(out);
  w.begin_object();
  w.key("a");
  w.value(1);
  w.raw_key("\"b\":");
  w.begin_array();
  w.value("x");
  w.null();
  w.value(nullptr);
  w.value(true);
  w.begin_array();
  w.end_array();
  w.begin_object();
  w.end_object();
  w.raw("[1, 2]");
  w.value(std::string("s"));
  w.value(std::string_view("v"));
  w.end_array();
  w.key("c\"");
  w.begin_object();
  w.key("");
  w.value(false);
  w.end_object();
  w.key("d");
  w.value(Value(Array{1, 2.5}));
  w.end_object();
  EXPECT_EQ(out, R"(kept:{"a":1,"b":["x",null,null,true,[],{},[1, 2],"s","v"],"c\"":{"":false},)"
                 R"("d":[1,2.5]})");
  EXPECT_FALSE(w.lossy());
  EXPECT_EQ(&w.out(), &out);
}

TEST(Writer, EscapesEachByte) {
  for (int byte = 0; byte < 256; ++byte) {
    SCOPED_TRACE(byte);
    const std::string text(1, static_cast<char>(byte));
    bool lossy = false;
    std::string expected;
    char hex[8];
    switch (byte) {
      case '"':
        expected = "\\\"";
        break;
      case '\\':
        expected = "\\\\";
        break;
      case '\b':
        expected = "\\b";
        break;
      case '\f':
        expected = "\\f";
        break;
      case '\n':
        expected = "\\n";
        break;
      case '\r':
        expected = "\\r";
        break;
      case '\t':
        expected = "\\t";
        break;
      default:
        std::snprintf(hex, sizeof hex, "\\u%04x", static_cast<unsigned>(byte));
        expected = byte < 0x20 ? hex : byte < 0x80 ? text : "\xef\xbf\xbd";
    }
    EXPECT_EQ(written(text, &lossy), "\"" + expected + "\"");
    EXPECT_EQ(lossy, byte >= 0x80);
    if (byte < 0x80) {
      EXPECT_EQ(parse(written(text))->get<std::string>(), text);
    }
  }
}

TEST(Writer, LeavesCharactersBeyondAsciiAlone) {
  // U+0080, U+2028, U+2029, U+FFFF, U+10FFFF and DEL.
  const std::string text = "\xc2\x80\xe2\x80\xa8\xe2\x80\xa9\xef\xbf\xbf\xf4\x8f\xbf\xbf\x7f";
  bool lossy = true;
  EXPECT_EQ(written(text, &lossy), "\"" + text + "\"");
  EXPECT_FALSE(lossy);
}

// Text is scanned in blocks; something special is put at each place of texts around their sizes.
TEST(Writer, BlockBoundaries) {
  for (std::size_t length = 0; length <= 70; ++length) {
    const std::string plain(length, 'a');
    EXPECT_EQ(written(plain), "\"" + plain + "\"");
    for (std::size_t at = 0; at < length; ++at) {
      for (const std::string_view special : {"\"", "\\", "\n", "\x1f", " ", "\x7f", "\xc3\xa9",
                                             "\xff", "\xe2\x82", "\xc3\xa9\"\xe2\x82\xac"}) {
        std::string text = plain;
        text.replace(at, 1, special);
        bool lossy = false;
        const std::string out = written(text, &lossy);
        const bool broken = special == "\xff" || special == "\xe2\x82";
        ASSERT_EQ(lossy, broken);
        const auto back = parse(out);
        ASSERT_TRUE(back) << out;
        if (!broken) {
          ASSERT_EQ(back->get<std::string_view>(), text);
        }
      }
    }
  }
}

TEST(Writer, RepairsInvalidUtf8) {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"\xff", "\xef\xbf\xbd"},
      {"a\x80z", "a\xef\xbf\xbdz"},
      {"\xc3", "\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // a surrogate, one mark per byte
      {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xc3\xa9\xff\xe2\x82\xac", "\xc3\xa9\xef\xbf\xbd\xe2\x82\xac"},
      {"\xff\"\n\\", "\xef\xbf\xbd\\\"\\n\\\\"},
      {"\"\n\xff", "\\\"\\n\xef\xbf\xbd"},
  };
  for (const auto& [text, expected] : table) {
    bool lossy = false;
    EXPECT_EQ(written(text, &lossy), "\"" + std::string(expected) + "\"");
    EXPECT_TRUE(lossy);
  }
  // Names are text like any other.
  std::string out;
  Writer w(out);
  w.begin_object();
  w.key("\xff");
  w.value(1);
  w.end_object();
  EXPECT_TRUE(w.lossy());
  EXPECT_EQ(out, "{\"\xef\xbf\xbd\":1}");
  EXPECT_EQ(Value("\xff").dump(), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(quote("a\"b"), R"("a\"b")");
}

TEST(Writer, Integers) {
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(std::int8_t{-128}), "-128");
  EXPECT_EQ(written(std::uint16_t{65535}), "65535");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Writer, Doubles) {
  EXPECT_EQ(written(1.0), "1.0");
  EXPECT_EQ(written(-0.0), "-0.0");
  EXPECT_EQ(written(0.0), "0.0");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-2.5), "-2.5");
  EXPECT_EQ(written(1e21), "1e+21");
  EXPECT_EQ(written(5e-324), "5e-324");
  EXPECT_EQ(written(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(written(2.2250738585072014e-308), "2.2250738585072014e-308");
  EXPECT_EQ(written(1.5f), "1.5");
}

void expect_round_trip(double value) {
  bool lossy = true;
  const std::string text = written(value, &lossy);
  ASSERT_FALSE(lossy);
  const auto back = parse(text);
  ASSERT_TRUE(back) << text;
  // Still a real number on the other side, and the same bits: also the sign of zero.
  ASSERT_TRUE(back->is_real()) << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(*back->as_double()), std::bit_cast<std::uint64_t>(value))
      << text;
  // The strict parser reads numbers by other means.
  const auto exact = parse("[" + text + ",-0]");
  ASSERT_TRUE(exact);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(*(*exact)[0].as_double()),
            std::bit_cast<std::uint64_t>(value))
      << text;
}

TEST(Writer, DoublesReadBackEqual) {
  for (const double value : {0.0,
                             1.0,
                             0.1,
                             1.0 / 3,
                             1e5,
                             1e15,
                             1e16,
                             1e17,
                             1e21,
                             1e22,
                             1e23,
                             123456789012345680.0,
                             5e-324,
                             4.9406564584124654e-324,
                             2.2250738585072011e-308,
                             2.2250738585072014e-308,
                             1.7976931348623157e308,
                             9007199254740991.0,
                             9007199254740992.0,
                             9007199254740994.0,
                             0x1p63,
                             0x1p64,
                             4.35,
                             2.5e-5,
                             1e-7,
                             9.5367431640625e-7,
                             8.98846567431158e307}) {
    expect_round_trip(value);
    expect_round_trip(-value);
  }
  std::mt19937_64 random(2024);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) expect_round_trip(value);
  }
  for (int i = 0; i < 5'000; ++i) {  // the sizes that people use
    expect_round_trip(static_cast<double>(static_cast<std::int64_t>(random() % 2'000'000'000)) /
                      1000);
  }
}

TEST(Writer, NanAndInfinityBecomeNull) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    bool lossy = false;
    EXPECT_EQ(written(value, &lossy), "null");
    EXPECT_TRUE(lossy);
  }
  EXPECT_EQ(Value(Array{infinity, 1.0}).dump(), "[null,1.0]");
}

TEST(Writer, WritesAViewAsItWasRead) {
  Document document;
  const std::string_view text =
      R"({"a":[null,true,false,-1,18446744073709551615,12345678901234567890123,1.5,"\n\u0000"],)"
      R"("b":{},"b":[]})";
  const auto root = document.parse(text);
  ASSERT_TRUE(root);
  EXPECT_EQ(written(*root), text);
  EXPECT_EQ(written(View()), "null");
}

class RandomValue {
 public:
  explicit RandomValue(std::uint64_t seed) : random_(seed) {}

  Value make(int depth) {
    switch (pick(depth > 0 ? 10 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return pick(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_() >> pick(64));
      case 3:
        return random_();
      case 4: {
        const double value = std::bit_cast<double>(random_());
        return std::isfinite(value) ? value : 0.5;
      }
      case 5:
        return Value::integer((pick(2) ? "-9" : "9") + std::to_string(random_()) + "00000");
      case 6:
        return text();
      case 7:
      case 8: {
        Array items;
        for (std::uint64_t n = pick(6); n > 0; --n) items.push_back(make(depth - 1));
        return items;
      }
      default: {
        Object members;
        for (std::uint64_t n = pick(25); n > 0; --n) members.set(text(), make(depth - 1));
        return members;
      }
    }
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  std::string text() {
    static constexpr std::string_view parts[] = {"a",
                                                 "\"",
                                                 "\\",
                                                 "\n",
                                                 "/",
                                                 "\xc3\xa9",
                                                 "\xe2\x82\xac",
                                                 "\xf0\x9d\x84\x9e",
                                                 "\x7f",
                                                 "some plain text",
                                                 std::string_view("\0", 1),
                                                 "[{,:"};
    std::string out;
    for (std::uint64_t n = pick(8); n > 0; --n) out += parts[pick(std::size(parts))];
    return out;
  }
  std::mt19937_64 random_;
};

TEST(Writer, WhatIsDumpedReadsBackEqual) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Value value = RandomValue(seed).make(5);
    const std::string text = value.dump();
    SCOPED_TRACE(text);
    const auto back = parse(text);
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(*back, value);
    ASSERT_EQ(back->dump(), text);
    const auto indented = parse(value.dump({.indent = 3}));
    ASSERT_TRUE(indented);
    ASSERT_EQ(indented->dump(), text);
    Document document;
    const auto view = document.parse(text);
    ASSERT_TRUE(view);
    ASSERT_EQ(written(*view), text);
  }
}

TEST(Writer, Pretty) {
  EXPECT_EQ(pretty(R"({"a":[1,2],"b":{"c":"x y"}})", 2),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {\n    \"c\": \"x y\"\n  }\n}");
  EXPECT_EQ(pretty(" [ ] ", 2), "[]");
  EXPECT_EQ(pretty("{ \"a\" : [ { } ] }", 1), "{\n \"a\": [\n  {}\n ]\n}");
  EXPECT_EQ(pretty(R"(["\"", "\\", "[,]"])", 1), "[\n \"\\\"\",\n \"\\\\\",\n \"[,]\"\n]");
}

}  // namespace
}  // namespace godwit::inline v0::json
