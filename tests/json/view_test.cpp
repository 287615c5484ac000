#include "godwit/json/view.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0::json {
namespace {

TEST(View, AbsentReadsAsNull) {
  const View absent;
  EXPECT_FALSE(absent);
  EXPECT_TRUE(absent.is_null());
  EXPECT_EQ(absent.type(), Type::null);
  EXPECT_EQ(absent.as_bool(), std::nullopt);
  EXPECT_EQ(absent.as_int64(), std::nullopt);
  EXPECT_EQ(absent.as_uint64(), std::nullopt);
  EXPECT_EQ(absent.as_double(), std::nullopt);
  EXPECT_EQ(absent.as_string(), std::nullopt);
  EXPECT_EQ(absent.big_integer(), "");
  EXPECT_EQ(absent.size(), 0u);
  EXPECT_FALSE(absent.find("a"));
  EXPECT_FALSE(absent.at(0));
  EXPECT_EQ(absent.duplicate_key(), std::nullopt);
  EXPECT_EQ(absent.source(), "");
  for ([[maybe_unused]] View item : absent.items()) ADD_FAILURE();
  for ([[maybe_unused]] MemberView member : absent.members()) ADD_FAILURE();
}

TEST(View, Types) {
  Document document;
  const auto root = document.parse(R"([null,true,1,"a",[],{}])");
  ASSERT_TRUE(root);
  const Type types[] = {Type::null,   Type::boolean, Type::number,
                        Type::string, Type::array,   Type::object};
  const std::string_view names[] = {"null", "boolean", "number", "string", "array", "object"};
  std::size_t i = 0;
  for (const View item : root->items()) {
    EXPECT_TRUE(item);
    EXPECT_EQ(item.type(), types[i]);
    EXPECT_EQ(to_string(item.type()), names[i]);
    EXPECT_EQ(item.is_null(), i == 0);
    EXPECT_EQ(item.is_bool(), i == 1);
    EXPECT_EQ(item.is_number(), i == 2);
    EXPECT_EQ(item.is_string(), i == 3);
    EXPECT_EQ(item.is_array(), i == 4);
    EXPECT_EQ(item.is_object(), i == 5);
    ++i;
  }
  EXPECT_EQ(i, 6u);
}

struct Number {
  std::string_view text;
  bool whole;
  bool real;
  std::optional<std::int64_t> int64;
  std::optional<std::uint64_t> uint64;
  double number;
};

TEST(View, Numbers) {
  const auto none = std::nullopt;
  const Number table[] = {
      {"0", true, false, 0, 0, 0},
      {"-0", true, true, 0, 0, -0.0},
      {"-0.0", true, true, 0, 0, -0.0},
      {"1.0", true, true, 1, 1, 1},
      {"1e2", true, true, 100, 100, 100},
      {"-1e2", true, true, -100, none, -100},
      {"1.5", false, true, none, none, 1.5},
      {"-1", true, false, -1, none, -1},
      {"0.1", false, true, none, none, 0.1},
      {"9223372036854775807", true, false, INT64_MAX, INT64_MAX, 0x1p63},
      {"9223372036854775808", true, false, none, 0x8000'0000'0000'0000u, 0x1p63},
      {"-9223372036854775808", true, false, INT64_MIN, none, -0x1p63},
      {"18446744073709551615", true, false, none, UINT64_MAX, 0x1p64},
      {"9223372036854775808.0", true, true, none, 0x8000'0000'0000'0000u, 0x1p63},
      {"-9223372036854775808.0", true, true, INT64_MIN, none, -0x1p63},
      {"9223372036854774784.0", true, true, 0x7fff'ffff'ffff'fc00, 0x7fff'ffff'ffff'fc00u,
       0x1p63 - 1024},
      {"-1e300", true, true, none, none, -1e300},
      {"-1e-400", true, true, 0, 0, -0.0},
      {"18446744073709551616.0", true, true, none, none, 0x1p64},
      {"1e300", true, true, none, none, 1e300},
      {"2251799813685248.5", false, true, none, none, 2251799813685248.5},
      {"18446744073709551616", true, false, none, none, 0x1p64},
      {"-9223372036854775809", true, false, none, none, -0x1p63},
      {"123456789012345678901234567890", true, false, none, none, 123456789012345678901234567890.0},
      {"5e-324", false, true, none, none, 5e-324},
      {"1e-400", true, true, 0, 0, 0},
      {"1.7976931348623157e308", true, true, none, none, std::numeric_limits<double>::max()},
  };
  Document document;
  for (const Number& number : table) {
    SCOPED_TRACE(number.text);
    const auto root = document.parse(number.text);
    ASSERT_TRUE(root);
    EXPECT_TRUE(root->is_number());
    EXPECT_EQ(root->is_integer(), number.whole);
    EXPECT_EQ(root->is_real(), number.real);
    EXPECT_EQ(root->as_int64(), number.int64);
    EXPECT_EQ(root->as_uint64(), number.uint64);
    ASSERT_TRUE(root->as_double());
    EXPECT_EQ(*root->as_double(), number.number);
    EXPECT_EQ(std::signbit(*root->as_double()), std::signbit(number.number));
    EXPECT_EQ(root->source(), number.text);
    // A Value made of it answers alike.
    const Value value(*root);
    EXPECT_EQ(value.is_integer(), number.whole);
    EXPECT_EQ(value.is_real(), number.real);
    EXPECT_EQ(value.as_int64(), number.int64);
    EXPECT_EQ(value.as_uint64(), number.uint64);
    EXPECT_EQ(value.as_double(), number.number);
    EXPECT_EQ(value.big_integer(), root->big_integer());
  }
}

TEST(View, BigIntegersKeepTheirDigits) {
  Document document;
  const std::string huge(400, '9');
  const auto root = document.parse("[18446744073709551616,-9223372036854775809," + huge + ",7]");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->at(0).big_integer(), "18446744073709551616");
  EXPECT_EQ(root->at(1).big_integer(), "-9223372036854775809");
  EXPECT_EQ(root->at(2).big_integer(), huge);
  EXPECT_TRUE(root->at(2).is_big_integer());
  EXPECT_EQ(root->at(2).as_double(), std::nullopt);  // no double is that large
  EXPECT_FALSE(root->at(3).is_big_integer());
  EXPECT_EQ(root->at(3).big_integer(), "");
}

TEST(View, FindGivesTheLastOfAName) {
  Document document;
  const auto root = document.parse(R"({"a":1,"b":{"a":9},"\u0061":2,"A":3,"":4})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->size(), 5u);
  EXPECT_EQ(root->find("a").as_int64(), 2);
  EXPECT_EQ(root->find("A").as_int64(), 3);
  EXPECT_EQ(root->find("").as_int64(), 4);
  EXPECT_EQ(root->find("b").find("a").as_int64(), 9);
  EXPECT_FALSE(root->find("c"));
  EXPECT_FALSE(root->find("a").find("a"));
  EXPECT_EQ(root->duplicate_key(), "a");
  EXPECT_EQ(root->find("b").duplicate_key(), std::nullopt);
}

TEST(View, NamesAndTextMayHoldNul) {
  Document document;
  const auto root = document.parse(R"({"a\u0000b":"c\u0000d","a":1})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find(std::string_view("a\0b", 3)).as_string(), std::string_view("c\0d", 3));
  EXPECT_EQ(root->find("a").as_int64(), 1);
}

TEST(View, AtAndIteration) {
  Document document;
  const auto root = document.parse(R"([[1,[2]],{"k":[3]},4.5,"five",18446744073709551616,6])");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->size(), 6u);
  EXPECT_EQ(root->at(0).at(1).at(0).as_int64(), 2);
  EXPECT_EQ(root->at(1).find("k").at(0).as_int64(), 3);
  EXPECT_EQ(root->at(2).as_double(), 4.5);
  EXPECT_EQ(root->at(3).as_string(), "five");
  EXPECT_EQ(root->at(5).as_int64(), 6);
  EXPECT_FALSE(root->at(6));
  EXPECT_FALSE(root->at(static_cast<std::size_t>(-1)));
  EXPECT_FALSE(root->at(1).at(0));  // an object has no items
}

// An independent idea of where values stand: a recursive walk over the text, in document order.
void slice(std::string_view text, std::size_t& at, std::vector<std::string_view>& out) {
  const auto space = [&] { at = std::min(text.find_first_not_of(" \t\r\n", at), text.size()); };
  const auto string = [&] {
    for (++at; text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
    }
    ++at;
  };
  space();
  const std::size_t begin = at;
  const std::size_t index = out.size();
  out.emplace_back();
  if (text[at] == '"') {
    string();
  } else if (text[at] == '[' || text[at] == '{') {
    const bool object = text[at++] == '{';
    for (space(); text[at] != ']' && text[at] != '}'; space()) {
      if (text[at] == ',') ++at;
      space();
      if (object) {
        string();
        space();
        ++at;  // the colon
      }
      slice(text, at, out);
    }
    ++at;
  } else {
    at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  }
  out[index] = text.substr(begin, at - begin);
}

void collect(View view, std::vector<View>& out) {
  out.push_back(view);
  for (const View item : view.items()) collect(item, out);
  for (const auto [key, value] : view.members()) collect(value, out);
}

void expect_slices(std::string_view text) {
  SCOPED_TRACE(text);
  Document document;
  const auto root = document.parse(text);
  ASSERT_TRUE(root);
  std::vector<View> views;
  collect(*root, views);
  std::vector<std::string_view> slices;
  std::size_t at = 0;
  slice(text, at, slices);
  ASSERT_EQ(views.size(), slices.size());

  for (std::size_t i = 0; i < views.size(); ++i) EXPECT_EQ(views[i].source(), slices[i]);
  for (std::size_t i = views.size(); i-- > 0;) EXPECT_EQ(views[i].source(), slices[i]);
  std::mt19937 random(42);
  for (std::size_t n = 0; n < 4 * views.size(); ++n) {
    const std::size_t i = random() % views.size();
    EXPECT_EQ(views[i].source(), slices[i]);
  }
  // Each alone, on a Document that was never asked before.
  for (std::size_t i = 0; i < views.size(); ++i) {
    Document again;
    ASSERT_TRUE(again.parse(text));
    std::vector<View> fresh;
    collect(again.root(), fresh);
    EXPECT_EQ(fresh[i].source(), slices[i]);
  }
}

TEST(View, SourceKeepsTheText) {
  for (
      const std::string_view text :
      {R"(1)", R"( "a" )", R"([])", R"( { } )", R"([1.0,1e5,-0,1E+2,18446744073709551616,0.10])",
       R"({"id":1.0,"method":"x","params":{"a":[1,2,{"b":null}],"c":"\"]}\\"},"jsonrpc":"2.0"})",
       "\r\n[ [ ] , { } , [ [ 1 ] , 2 ] ,\t{ \"a\" : { \"b\" : [ ] } , \"c\" : true } ]\n",
       R"([[[[1],2],3],4,{"x":[{"y":{"z":[0]}}]},"[{,:\"",false])",
       R"({"a":"\\","b":"\\\"","c":"\\\\\"","d":"a string longer than a block of bytes \" , [ {"})",
       R"({"a":1,"a":{"a":[-0]},"a":3})"}) {
    expect_slices(text);
  }
}

TEST(View, SourceOfRandomDocuments) {
  std::mt19937 random(7);
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const std::string_view scalars[] = {
      "1.0", "-0", "123456789012345678901", "\"\"", R"("\\\"[{")", "true", "null", "1e5"};
  const std::string_view spaces[] = {"", "", " ", "\n\t"};
  const auto build = [&](auto&& self, unsigned depth) -> std::string {
    const unsigned kind = pick(depth == 0 ? 1 : 3);
    std::string out(spaces[pick(4)]);
    if (kind == 0) return out + std::string(scalars[pick(8)]) + std::string(spaces[pick(4)]);
    out += kind == 1 ? "[" : "{";
    const unsigned count = pick(5);
    for (unsigned i = 0; i < count; ++i) {
      if (i) out += ",";
      if (kind == 2)
        out += std::string(spaces[pick(4)]) + R"("k\")" + std::to_string(pick(3)) + "\" :";
      out += self(self, depth - 1);
    }
    out += spaces[pick(4)];
    return out + (kind == 1 ? "]" : "}");
  };
  for (int i = 0; i < 60; ++i) expect_slices(build(build, 5));
}

}  // namespace
}  // namespace godwit::inline v0::json
