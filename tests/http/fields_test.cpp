#include "godwit/http/fields.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

using godwit::http::Field;
using godwit::http::Fields;
using godwit::http::FieldsView;
using godwit::http::is_field_value;
using godwit::http::is_token;
using godwit::http::same_name;

TEST(FieldNames, CaseDoesNotMatter) {
  EXPECT_TRUE(same_name("Content-Type", "cONTENT-tYPE"));
  EXPECT_TRUE(same_name("", ""));
  EXPECT_FALSE(same_name("a", "ab"));
  EXPECT_FALSE(same_name("@", "`"));  // differ in the bit that tells upper from lower case
  EXPECT_FALSE(same_name("[", "{"));
  EXPECT_FALSE(same_name("\xc4", "\xe4"));  // only ASCII has a case
}

TEST(FieldNames, Tokens) {
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool good =
        letter || (c != 0 && std::string("!#$%&'*+-.^_`|~").find(text) != std::string::npos);
    EXPECT_EQ(is_token(text), good) << c;
    EXPECT_EQ(is_token("a" + text + "b"), good) << c;
  }
  EXPECT_FALSE(is_token(""));
}

TEST(FieldValues, ControlCharactersAndOuterSpaceAreRefused) {
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(is_field_value("a" + text + "b"), c == '\t' || (c >= 0x20 && c != 0x7f)) << c;
    EXPECT_EQ(is_field_value(text), c > 0x20 && c != 0x7f) << c;
  }
  EXPECT_TRUE(is_field_value(""));
  for (const char* bad : {" a", "a ", "\ta", "a\t", " ", "a\r\nb", "a\rb", "a\nb"})
    EXPECT_FALSE(is_field_value(bad));
}

TEST(FieldsView, FindAndCount) {
  const Field fields[] = {{"Accept", "a"}, {"X", ""}, {"accept", "b"}};
  const FieldsView view{fields};
  EXPECT_EQ(view.find("ACCEPT"), "a");
  EXPECT_EQ(view.find("x"), "");
  EXPECT_EQ(view.find("y"), std::nullopt);
  EXPECT_EQ(view.count("Accept"), 2u);
  EXPECT_EQ(view.count("y"), 0u);
  EXPECT_EQ(view.only("ACCEPT"), std::nullopt);  // there are two
  EXPECT_EQ(view.only("x"), "");
  EXPECT_EQ(view.only("y"), std::nullopt);
  EXPECT_EQ(view.size(), 3u);
  EXPECT_EQ(FieldsView().size(), 0u);
  EXPECT_FALSE(FieldsView().find("x"));
}

TEST(FieldsView, Lists) {
  const Field fields[] = {{"Accept", "application/json;q=0.5 ,, Text/Event-Stream"},
                          {"accept", "\ta ; b=\"x, hidden, y\\\", hidden2\" , c"},
                          {"Accept", ""},
                          {"X", "d"}};
  const FieldsView view{fields};
  for (const char* member : {"application/json", "text/event-stream", "A", "c"})
    EXPECT_TRUE(view.lists("ACCEPT", member)) << member;
  for (const char* member : {"application", "text/event", "b", "d", "hidden", "hidden2", "q=0.5"})
    EXPECT_FALSE(view.lists("Accept", member)) << member;
  EXPECT_FALSE(view.lists("Y", "a"));
  EXPECT_EQ(view.which_listed("Accept", {"hidden", "c", "d", "Application/JSON"}), 0b1010u);
  EXPECT_EQ(view.which_listed("Y", {"a"}), 0u);
  const Field open[] = {{"A", "\"never closed, b"}, {"A", "\"\\"}};
  EXPECT_FALSE(FieldsView{open}.lists("A", "b"));
}

TEST(Fields, AddSetRemoveWrite) {
  Fields fields{{"A", "1"}, {"B", "2"}, {"a", "3"}};
  EXPECT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields.find("a"), "1");
  fields.set("A", "4").add("C", "");
  std::string out = "x";
  fields.write(out);
  EXPECT_EQ(out, "xB: 2\r\nA: 4\r\nC: \r\n");
  fields.remove("b").remove("c").remove("nothing");
  EXPECT_EQ(fields, (Fields{{"A", "4"}}));
  fields.remove("a");
  EXPECT_TRUE(fields.empty());
}

TEST(Fields, WhatWouldBreakTheMessageApartThrows) {
  Fields fields{{"A", "1"}};
  EXPECT_THROW(fields.add("", "x"), std::invalid_argument);
  EXPECT_THROW(fields.add("A B", "x"), std::invalid_argument);
  EXPECT_THROW(fields.add("A:", "x"), std::invalid_argument);
  EXPECT_THROW(fields.add("A", "x\r\nSet-Cookie: y"), std::invalid_argument);
  EXPECT_THROW(fields.set("A", "x\n"), std::invalid_argument);
  EXPECT_THROW(fields.set("A", std::string_view("\0", 1)), std::invalid_argument);
  EXPECT_EQ(fields, (Fields{{"A", "1"}}));
}

TEST(Fields, MayBeGivenItsOwnParts) {
  Fields fields{{"A", "a value that is too long to be kept inside the string itself"}};
  const std::string value(*fields.find("A"));
  fields.set("A", *fields.find("A"));
  EXPECT_EQ(fields.find("A"), value);
  fields.set("B", *fields.find("A"));
  EXPECT_EQ(fields.find("B"), value);
  fields.remove(fields.begin()->first);
  EXPECT_EQ(fields.size(), 1u);
}
