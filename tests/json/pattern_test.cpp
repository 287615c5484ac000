// ECMA-262 patterns as schemas use them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/schema.hpp"

namespace {

using godwit::json::Object;
using godwit::json::Schema;
using godwit::json::Value;

struct PatternCase {
  std::string_view pattern;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

void expect(const std::vector<PatternCase>& cases) {
  for (const PatternCase& one : cases) {
    const auto schema = Schema::compile(Object{{"pattern", one.pattern}});
    ASSERT_TRUE(schema) << one.pattern << ": " << schema.error().message;
    for (const std::string& text : one.good) {
      EXPECT_TRUE(schema->valid(Value(text))) << one.pattern << " should match " << text;
    }
    for (const std::string& text : one.bad) {
      EXPECT_FALSE(schema->valid(Value(text))) << one.pattern << " should not match " << text;
    }
  }
}

std::string refusal(std::string_view pattern) {
  const auto schema = Schema::compile(Object{{"pattern", pattern}});
  return schema ? "" : schema.error().message;
}

bool is_regex(std::string_view pattern) {
  const auto schema = Schema::compile(Object{{"format", "regex"}}, {.assert_formats = true});
  return schema->valid(Value(pattern));
}

TEST(Pattern, Plain) {
  expect({
      {"", {"", "x"}, {}},
      {"b", {"abc", "b"}, {"ac"}},
      {"^abc$", {"abc"}, {"abc\n", "\nabc", "xabc", "abcx"}},
      {"a|b", {"a", "b"}, {"c"}},
      {"^(?:a|bc)+$", {"abc", "bca"}, {"b"}},
      {"^(?<year>\\d{4})-(\\d\\d)$", {"2024-02"}, {"24-02"}},
      {"^a.c$",
       {"abc", "aéc",
        "a\xf0\x9f\x90\xb2"
        "c"},
       {"a\nc", "a\rc",
        "a\xe2\x80\xa8"
        "c"}},
      {"^🐲*$", {"", "🐲", "🐲🐲"}, {"🐉"}},
      {"\\bfoo\\b", {"a foo b", "foo"}, {"food"}},
      {"^\\Boo", {}, {"oo"}},
  });
}

TEST(Pattern, Escapes) {
  expect({
      {"^\\t\\n\\v\\f\\r$", {"\t\n\v\f\r"}, {"tnvfr"}},
      {"^\\cC\\cc$", {"\x03\x03"}, {"\\cC"}},
      {"^\\x41\\u0042\\u{43}$", {"ABC"}, {"x41"}},
      {"^\\uD83D\\uDC32$", {"🐲"}, {"🐉"}},
      {"^\\u{1F432}$", {"🐲"}, {"🐉"}},
      {"^\\0$", {std::string(1, '\0')}, {"0"}},
      {"^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", {"^$\\.*+?()[]{}|/"}, {""}},
      {"^\\-\\_\\@\\ $", {"-_@ "}, {"\\-"}},
      {"^[\\b]$", {"\b"}, {"b"}},
      {"\\uD800", {}, {"x", "\xed\x9f\xbf"}},
  });
}

TEST(Pattern, Classes) {
  expect({
      {"^\\d+$", {"09"}, {"৪২", "a"}},
      {"^\\D$", {"a", "৪"}, {"0"}},
      {"^\\w+$", {"aZ_9"}, {"é", "-"}},
      {"^\\W$", {"é", "-"}, {"a", "_"}},
      {"^\\s+$",
       {" \t\n\v\f\r", "\xc2\xa0\xef\xbb\xbf", "\xe2\x80\xa9\xe2\x80\x83", "\xe1\x9a\x80"},
       {"\x01", "\xe2\x80\x93", ""}},
      {"^\\S$", {"\x01", "\xe2\x80\x93"}, {" ", "\xc2\xa0"}},
      {"^[\\d\\s]$", {"1", " ", "\xc2\xa0"}, {"a"}},
      {"^[^\\W_]+$", {"aZ9"}, {"_", "é"}},
      {"^[\\S]$", {"é", "a"}, {" ", "\xe3\x80\x80"}},
      {"^[a-c-]+$", {"a-c"}, {"d"}},
      {"^[\\w-.]+$", {"a-.b"}, {",", "é"}},
      {"^[]$", {}, {"", "a"}},
      {"^[^]$", {"a", "\n", "🐲"}, {""}},
      {"^[[(*+.]$", {"[", "(", "*", "+", "."}, {"a", "]"}},
      {"^[\\]\\\\^]$", {"]", "\\", "^"}, {"a"}},
      {"^[\\u{1F400}-\\u{1F4FF}]$", {"🐲"}, {"a"}},
      {"^[^\\uD800-\\uDFFF]$", {"a", "🐲"}, {}},
      {"^[\\x00-\\x1f]$", {"\x01"}, {" "}},
      {"^[é-ü]$", {"ê"}, {"e"}},
      {"^[&&~~]$", {"&", "~"}, {"a"}},
  });
}

TEST(Pattern, UnicodeProperties) {
  expect({
      {"^\\p{L}+$", {"aéß실"}, {"1", "_"}},
      {"^\\p{Letter}+$", {"aé"}, {"1"}},
      {"^\\P{Letter}$", {"1"}, {"a"}},
      {"^\\p{digit}+$", {"42", "৪২"}, {"a"}},
      {"^\\p{gc=Nd}\\p{General_Category=Decimal_Number}$", {"4৪"}, {"ab"}},
      {"^\\p{Script=Greek}+$", {"αβγ"}, {"abc"}},
      {"^\\p{sc=Cyrl}+$", {"привет"}, {"abc"}},
      {"^[\\p{Lu}\\d]+$", {"AÉ1"}, {"a"}},
      {"^[^\\p{L}]$", {"1"}, {"a"}},
      {"^\\p{LC}$", {"a", "A"}, {"실"}},
      {"^\\p{ASCII}$", {"a"}, {"é"}},
      {"^\\P{ASCII}$", {"é"}, {"a"}},
      {"^\\p{Any}$", {"é", "\n"}, {""}},
      {"^\\p{Punctuation}$", {"!"}, {"a"}},
  });
}

TEST(Pattern, Repetitions) {
  expect({
      {"^a*b+c?$", {"b", "aabbc"}, {"a", "bcc"}},
      {"^a{2}$", {"aa"}, {"a", "aaa"}},
      {"^a{2,}$", {"aa", "aaaa"}, {"a"}},
      {"^a{1,2}$", {"a", "aa"}, {"", "aaa"}},
      {"^a{0}$", {""}, {"a"}},
      {"^a+?b*?$", {"aab"}, {"b"}},
      {"^(ab){2}$", {"abab"}, {"ab"}},
      {"^((a{1,2}){1,2}){1,2}$", {"a", "aaaaaaaa"}, {"aaaaaaaaa"}},
      {"^.{1,2500}$", {std::string(2'500, 'x'), "x"}, {"", std::string(2'501, 'x')}},
      {"^a{1500}$", {std::string(1'500, 'a')}, {std::string(1'499, 'a'), std::string(1'501, 'a')}},
      {"^a{1500,}$", {std::string(1'500, 'a'), std::string(9'000, 'a')}, {std::string(1'499, 'a')}},
      // Braces that count nothing stand for themselves, as in patterns that people write.
      {"^{a}$", {"{a}"}, {"a"}},
      {"^a{,2}$", {"a{,2}"}, {"aa"}},
      {"^x]}$", {"x]}"}, {"x"}},
  });
}

TEST(Pattern, WhatCannotBeMatchedInLinearTime) {
  for (const std::string_view pattern :
       {"(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>", "(?i:a)", "\\p{Emoji}",
        "\\p{Script_Extensions=Greek}", "a{30000}"}) {
    EXPECT_NE(refusal(pattern), "") << pattern;
    EXPECT_TRUE(is_regex(pattern)) << pattern;
  }
  EXPECT_EQ(refusal("(?=a)b"),
            "/pattern: the pattern \"(?=a)b\" cannot be used: lookahead and lookbehind cannot be "
            "matched in linear time");
}

TEST(Pattern, WhatIsNoRegularExpression) {
  for (const std::string_view pattern :
       {"(",      ")",     "(a",      "a)",      "[",         "[a",           "[b-a]",
        "*",      "+a",    "a**",     "a{2}{3}", "{2}",       "a{3,2}",       "\\",
        "[\\",    "\\a",   "\\y",     "\\x4",    "\\u12",     "\\u{}",        "\\u{110000}",
        "\\c1",   "\\01",  "\\p",     "\\p{}",   "\\p{Nope}", "\\p{Foo=Bar}", "(?P<n>x)",
        "(?#c)",  "(?i)a", "(?<1>a)", "(?<>a)",  "(?",        "^*",           "\\b+",
        "(?=a)(", "\\k"}) {
    EXPECT_NE(refusal(pattern), "") << pattern;
    EXPECT_FALSE(is_regex(pattern)) << pattern;
  }
  EXPECT_EQ(refusal("ab("),
            "/pattern: the pattern \"ab(\" cannot be used: a '(' is not closed (at character 4)");
}

TEST(Pattern, HostilePatternsAreReadInNoTime) {
  EXPECT_NE(refusal(std::string(5'000, 'a')), "");
  EXPECT_NE(refusal(std::string(1'000, '(') + std::string(1'000, ')')), "");
  std::string nested = "a";
  for (int i = 0; i < 60; ++i) nested = "(" + nested + "){2,5}";
  EXPECT_NE(refusal(nested), "");
  std::string wide = "a";
  for (int i = 0; i < 20; ++i) wide = "(" + wide + "){1001}";
  EXPECT_NE(refusal(wide), "");
}

}  // namespace
