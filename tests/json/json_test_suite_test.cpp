// JSONTestSuite (the public collection of JSON parsing cases): every y_ file is taken, every n_
// file is refused, and for every i_ file, where the standard leaves the choice, the choice is
// written here and in docs/json.md.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"
#include "test_data.hpp"

namespace godwit::inline v0::json {
namespace {

struct Decision {
  std::string_view file;
  bool accepted;
};

constexpr Decision decisions[] = {
    // A double that is too small becomes zero, one that is too large is refused.
    {"i_number_double_huge_neg_exp.json", true},
    {"i_number_huge_exp.json", false},
    {"i_number_neg_int_huge_exp.json", false},
    {"i_number_pos_double_huge_exp.json", false},
    {"i_number_real_neg_overflow.json", false},
    {"i_number_real_pos_overflow.json", false},
    {"i_number_real_underflow.json", true},
    // Integers of any size are kept as their digits.
    {"i_number_too_big_neg_int.json", true},
    {"i_number_too_big_pos_int.json", true},
    {"i_number_very_big_negative_int.json", true},
    // Half a surrogate pair is no character.
    {"i_object_key_lone_2nd_surrogate.json", false},
    {"i_string_1st_surrogate_but_2nd_missing.json", false},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", false},
    {"i_string_incomplete_surrogate_pair.json", false},
    {"i_string_incomplete_surrogates_escape_valid.json", false},
    {"i_string_invalid_lonely_surrogate.json", false},
    {"i_string_invalid_surrogate.json", false},
    {"i_string_inverted_surrogates_U+1D11E.json", false},
    {"i_string_lone_second_surrogate.json", false},
    // Only valid UTF-8.
    {"i_string_UTF-8_invalid_sequence.json", false},
    {"i_string_UTF8_surrogate_U+D800.json", false},
    {"i_string_invalid_utf-8.json", false},
    {"i_string_iso_latin_1.json", false},
    {"i_string_lone_utf8_continuation_byte.json", false},
    {"i_string_not_in_unicode_range.json", false},
    {"i_string_overlong_sequence_2_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes_null.json", false},
    {"i_string_truncated-utf-8.json", false},
    // Only UTF-8, and no byte order mark.
    {"i_string_UTF-16LE_with_BOM.json", false},
    {"i_string_utf16BE_no_BOM.json", false},
    {"i_string_utf16LE_no_BOM.json", false},
    {"i_structure_UTF-8_BOM_empty_object.json", false},
    // Deeper than the default limit of 128.
    {"i_structure_500_nested_arrays.json", false},
};

TEST(JsonTestSuite, Parsing) {
  const auto folder = test::test_data("JSONTestSuite/test_parsing");
  if (!folder) GTEST_SKIP() << "GODWIT_TEST_DATA has no JSONTestSuite";
  std::map<std::string, bool, std::less<>> decided;
  for (const Decision& decision : decisions) decided.emplace(decision.file, decision.accepted);
  std::map<char, int> seen;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const std::string text = test::read_file(entry.path());
    bool expected = name.starts_with("y_");
    if (name.starts_with("i_")) {
      const auto decision = decided.find(name);
      ASSERT_NE(decision, decided.end()) << "no decision for this file";
      expected = decision->second;
    }
    Document document;
    const auto result = document.parse(text);
    EXPECT_EQ(result.has_value(), expected) << document.failure().message;
    if (result) {
      const Value value(*result);
      EXPECT_EQ(*parse(value.dump()), value);
    } else {
      EXPECT_FALSE(document.failure().message.empty());
      EXPECT_LE(document.failure().offset, text.size());
    }
    // The same inside an array that the strict parser reads. Texts that are no single value may
    // become one there, so only what is taken is asked for.
    if (expected) {
      EXPECT_TRUE(parse("[" + text + ",-0]"));
    }
    ++seen[name[0]];
  }
  EXPECT_EQ(seen['y'], 95);
  EXPECT_EQ(seen['n'], 188);
  EXPECT_EQ(seen['i'], 35);
  EXPECT_EQ(decided.size(), 35u);
}

TEST(JsonTestSuite, Transform) {
  const auto folder = test::test_data("JSONTestSuite/test_transform");
  if (!folder) GTEST_SKIP() << "GODWIT_TEST_DATA has no JSONTestSuite";
  // What each file becomes when it is read and written; absent means refused.
  const std::map<std::string, std::string, std::less<>> becomes = {
      {"number_-9223372036854775808.json", "[-9223372036854775808]"},
      {"number_-9223372036854775809.json", "[-9223372036854775809]"},
      {"number_1.0.json", "[1.0]"},
      {"number_1.000000000000000005.json", "[1.0]"},
      {"number_1000000000000000.json", "[1000000000000000]"},
      {"number_10000000000000000999.json", "[10000000000000000999]"},
      {"number_1e-999.json", "[0.0]"},
      {"number_1e6.json", "[1000000.0]"},
      {"number_9223372036854775807.json", "[9223372036854775807]"},
      {"number_9223372036854775808.json", "[9223372036854775808]"},
      {"object_key_nfc_nfd.json", "{\"\xc3\xa9\":\"NFC\",\"e\xcc\x81\":\"NFD\"}"},
      {"object_key_nfd_nfc.json", "{\"e\xcc\x81\":\"NFD\",\"\xc3\xa9\":\"NFC\"}"},
      {"object_same_key_different_values.json", R"({"a":2})"},
      {"object_same_key_same_value.json", R"({"a":1})"},
      {"object_same_key_unclear_values.json", R"({"a":-0.0})"},
      {"string_with_escaped_NULL.json", R"(["A\u0000B"])"},
  };
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    ++files;
    const auto value = parse(test::read_file(entry.path()));
    const auto expected = becomes.find(name);
    ASSERT_EQ(value.has_value(), expected != becomes.end());
    if (!value) continue;
    EXPECT_EQ(value->dump(), expected->second);
    EXPECT_EQ(*parse(value->dump()), *value);
  }
  EXPECT_EQ(files, 22);
}

// The same decisions on texts of our own, which need no test data.
TEST(JsonTestSuite, OwnCasesOfTheDecisions) {
  for (const std::string_view good : {"[123.456e-789]", "[-1e-9999]", "[100000000000000000000]",
                                      "[-123123123123123123123123123123]",
                                      "[-237462374673276894279832749832423479823246327846]"}) {
    EXPECT_TRUE(parse(good)) << good;
  }
  const std::string deep(500, '[');
  const std::string utf16("\0\"\0\xe9\0\"", 6);
  for (const std::string& bad : {std::string("[0.4e00669999999999999999999999999999999999]"),
                                 std::string("[-1e+9999]"),
                                 std::string("[1.5e+9999]"),
                                 std::string(R"({"\udfaa":0})"),
                                 std::string(R"(["\uDADA"])"),
                                 std::string(R"(["\ud888\u1234"])"),
                                 std::string(R"(["\ud800\n"])"),
                                 std::string(R"(["\uD800\uD800\n"])"),
                                 std::string(R"(["\uDd1e\uD834"])"),
                                 std::string("[\"\xed\xa0\x80\"]"),
                                 std::string("[\"\xe9\"]"),
                                 std::string("[\"\x81\"]"),
                                 std::string("[\"\xf4\xbf\xbf\xbf\"]"),
                                 std::string("[\"\xc0\xaf\"]"),
                                 std::string("[\"\xfc\x83\xbf\xbf\xbf\xbf\"]"),
                                 std::string("[\"\xe0\xff\"]"),
                                 utf16,
                                 std::string("\xff\xfe[\0\"\0\xe9\0\"\0]\0", 12),
                                 std::string("\xef\xbb\xbf{}"),
                                 deep + std::string(500, ']')}) {
    EXPECT_FALSE(parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace godwit::inline v0::json
