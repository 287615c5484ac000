// Strings of parsed text: UTF-8, escapes and control characters, on both parsers.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::json {
namespace {

using namespace std::string_literals;

bool accepts(std::string_view text) { return Document().parse(text).has_value(); }

// An integer -0 sends the text to the strict parser; 0 leaves it to the fast one.
std::string fast(std::string_view text) { return "[" + std::string(text) + ",0]"; }
std::string strict(std::string_view text) { return "[" + std::string(text) + ",-0]"; }

// A second opinion on UTF-8, from the definition: decode the bits, then ask whether that code point
// is a scalar value and whether this is its shortest form.
bool valid_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned lead = static_cast<unsigned char>(bytes[i]);
    std::size_t length = 1;
    while (length < 5 && (lead & (0x80u >> length)) && lead >= 0x80) ++length;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    if (!(lead & 0x40) || length > 4 || i + length > bytes.size()) return false;
    std::uint32_t code = lead & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const unsigned next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    i += length;
  }
  return true;
}

void expect_as_model(Document& document, std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '"' || c == '\\' || (c >= 0 && c < 0x20)) return;  // other rules apply
  }
  const bool valid = valid_utf8(bytes);
  const auto root = document.parse("\"" + std::string(bytes) + "\"");
  ASSERT_EQ(root.has_value(), valid) << testing::PrintToString(bytes);
  if (valid) {
    ASSERT_EQ(root->as_string(), bytes);
    // The strict parser has its own decoder.
    const auto exact = document.parse("[\"" + std::string(bytes) + "\",-0]");
    ASSERT_TRUE(exact);
    ASSERT_EQ(exact->at(0).as_string(), bytes);
  }
}

TEST(DocumentText, Utf8OfOneAndTwoBytes) {
  Document document;
  for (int a = 0; a < 256; ++a) {
    expect_as_model(document, std::string(1, static_cast<char>(a)));
    for (int b = 0; b < 256; ++b) {
      expect_as_model(document, std::string{static_cast<char>(a), static_cast<char>(b)});
    }
  }
}

TEST(DocumentText, Utf8OfThreeAndFourBytes) {
  Document document;
  const int edges[] = {0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
  for (int a = 0xc0; a < 256; ++a) {
    for (int b = 0x7f; b <= 0xc0; ++b) {
      for (const int c : edges) {
        const std::string three = {static_cast<char>(a), static_cast<char>(b),
                                   static_cast<char>(c)};
        expect_as_model(document, three);
        if (a < 0xef || b % 4 == 1) continue;
        for (const int d : edges) expect_as_model(document, three + static_cast<char>(d));
      }
    }
  }
}

TEST(DocumentText, InvalidUtf8IsRefusedOutsideStringsAndAtBlockEdges) {
  EXPECT_FALSE(accepts("[\xc3\xa9]"));
  EXPECT_FALSE(accepts("{\"\xff\":1}"));
  EXPECT_FALSE(accepts("[1]\xc2\xa0"));
  for (std::size_t before = 0; before < 140; ++before) {
    const std::string filler(before, 'x');
    EXPECT_TRUE(accepts("\"" + filler + "\xf0\x9d\x84\x9e\""));
    EXPECT_FALSE(accepts("\"" + filler + "\xf0\x9d\x84\""));
    EXPECT_FALSE(accepts("\"" + filler + "\xed\xa0\x80\""));
  }
}

TEST(DocumentText, SurrogateEscapes) {
  const auto text = [](std::string_view json) {
    const auto value = parse(json);
    return value ? std::string(value->get<std::string>()) : "refused"s;
  };
  EXPECT_EQ(text(R"("\ud834\udd1e")"), "\xf0\x9d\x84\x9e");
  EXPECT_EQ(text(R"("\uD800\uDC00")"), "\xf0\x90\x80\x80");
  EXPECT_EQ(text(R"("\udbff\udfff")"), "\xf4\x8f\xbf\xbf");
  EXPECT_EQ(text(R"("\ud7ff\ue000")"), "\xed\x9f\xbf\xee\x80\x80");
  EXPECT_EQ(text(R"("\uffff\ufffe")"), "\xef\xbf\xbf\xef\xbf\xbe");
  EXPECT_EQ(text(R"("a\u0000b")"), "a\0b"s);
  for (const std::string_view broken :
       {R"("\ud800")", R"("\udfff")", R"("\ud800x")", R"("\ud800\u0041")", R"("\ud800\ud800")",
        R"("\ud800\ue000")", R"("\ud800\\udc00")", R"("\udc00\ud800")", R"("\ud800\n")",
        R"("\ud834\uddxe")", R"("\ud834\ud")"}) {
    EXPECT_FALSE(accepts(broken)) << broken;
    EXPECT_FALSE(accepts(strict(broken))) << broken;
  }
}

TEST(DocumentText, EveryEscapeOfFourDigits) {
  Document document;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    char escape[16];
    std::snprintf(escape, sizeof escape, "\"\\u%04x\"", code);
    std::string expected;
    if (code < 0x80) {
      expected = {static_cast<char>(code)};
    } else if (code < 0x800) {
      expected = {static_cast<char>(0xc0 + code / 64), static_cast<char>(0x80 + code % 64)};
    } else {
      expected = {static_cast<char>(0xe0 + code / 4096), static_cast<char>(0x80 + code / 64 % 64),
                  static_cast<char>(0x80 + code % 64)};
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    for (const std::string& text : {fast(escape), strict(escape)}) {
      const auto root = document.parse(text);
      ASSERT_EQ(root.has_value(), !surrogate) << text;
      if (root) {
        ASSERT_EQ(root->at(0).as_string(), expected) << text;
      }
    }
  }
}

TEST(DocumentText, ControlCharactersInStringsAreRefused) {
  for (char c = 0; c < 0x20; ++c) {
    const std::string text = "\"a" + std::string(1, c) + "b\"";
    EXPECT_FALSE(accepts(fast(text))) << int(c);
    EXPECT_FALSE(accepts(strict(text))) << int(c);
  }
  EXPECT_TRUE(accepts("\"\x7f \""));
  EXPECT_TRUE(accepts(strict("\"\x7f \"")));
}

}  // namespace
}  // namespace godwit::inline v0::json
