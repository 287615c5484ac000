// Which structs can be reflected and what they and their fields are called: everything here shows
// itself in the JSON.
#include "godwit/json/reflect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"

namespace json = godwit::json;

namespace outer::inner {
struct Named {
  int id{};
  std::string text{};
  bool operator==(const Named&) const = default;
};
}  // namespace outer::inner

/// What a foreign library might offer.
struct Foreign {
  int klass{};
  std::string label = "none";
  bool operator==(const Foreign&) const = default;
};
template <>
struct godwit::Describe<Foreign> {
  static constexpr godwit::Field fields[] = {{.name = "klass", .rename = "class"},
                                             {.name = "label", .has_default = true}};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};

namespace {

struct Nothing {
  bool operator==(const Nothing&) const = default;
};

struct One {
  int only{};
  bool operator==(const One&) const = default;
};

struct Two {
  int first{};
  std::string second{};
  bool operator==(const Two&) const = default;
};

struct SixtyThree {
  int a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{}, a9{};
  int b0{}, b1{}, b2{}, b3{}, b4{}, b5{}, b6{}, b7{}, b8{}, b9{};
  int c0{}, c1{}, c2{}, c3{}, c4{}, c5{}, c6{}, c7{}, c8{}, c9{};
  int d0{}, d1{}, d2{}, d3{}, d4{}, d5{}, d6{}, d7{}, d8{}, d9{};
  int e0{}, e1{}, e2{}, e3{}, e4{}, e5{}, e6{}, e7{}, e8{}, e9{};
  int f0{}, f1{}, f2{}, f3{}, f4{}, f5{}, f6{}, f7{}, f8{}, f9{};
  int g0{}, g1{}, g2{};
  bool operator==(const SixtyThree&) const = default;
};

struct SixtyFour {
  int a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{}, a9{};
  int b0{}, b1{}, b2{}, b3{}, b4{}, b5{}, b6{}, b7{}, b8{}, b9{};
  int c0{}, c1{}, c2{}, c3{}, c4{}, c5{}, c6{}, c7{}, c8{}, c9{};
  int d0{}, d1{}, d2{}, d3{}, d4{}, d5{}, d6{}, d7{}, d8{}, d9{};
  int e0{}, e1{}, e2{}, e3{}, e4{}, e5{}, e6{}, e7{}, e8{}, e9{};
  int f0{}, f1{}, f2{}, f3{}, f4{}, f5{}, f6{}, f7{}, f8{}, f9{};
  int g0{}, g1{}, g2{}, g3{};
  bool operator==(const SixtyFour&) const = default;
};

/// There and back.
template <class T>
void expect_json(const T& value, std::string_view text) {
  EXPECT_EQ(json::encode(value), text);
  const auto back = json::decode<T>(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(*back == value) << text;
}

TEST(Reflect, CountsFromNoneToSixtyFour) {
  expect_json(Nothing{}, "{}");
  expect_json(One{1}, R"({"only":1})");
  expect_json(Two{1, "two"}, R"({"first":1,"second":"two"})");

  SixtyThree most{};
  most.a0 = 1;
  most.g2 = 63;
  const std::string text = json::encode(most);
  EXPECT_TRUE(text.starts_with(R"({"a0":1,"a1":0,)")) << text;
  EXPECT_TRUE(text.ends_with(R"("g1":0,"g2":63})")) << text;
  expect_json(most, text);

  SixtyFour all{};
  all.a0 = 1;
  all.g3 = 64;
  expect_json(all, json::encode(all));
  EXPECT_TRUE(json::encode(all).ends_with(R"("g2":0,"g3":64})"));
  // The last bit of the mask of what was seen counts like the others.
  std::string cut = json::encode(all);
  cut.replace(cut.find(R"(,"g3":64)"), 8, "");
  EXPECT_EQ(json::decode<SixtyFour>(cut).error().message, R"(the member "g3" is missing)");
}

TEST(Reflect, StructsInNamespaces) {
  expect_json(outer::inner::Named{1, "x"}, R"({"id":1,"text":"x"})");
}

TEST(Reflect, StructsInFunctionsAndLambdas) {
  struct Local {
    int here{};
    std::optional<bool> there{};
    bool operator==(const Local&) const = default;
  };
  expect_json(Local{7, true}, R"({"here":7,"there":true})");
  [] {
    struct InLambda {
      double x{};
      Local inner{};
      bool operator==(const InLambda&) const = default;
    };
    expect_json(InLambda{0.5, {1, {}}}, R"({"x":0.5,"inner":{"here":1}})");
  }();
}

template <class T>
struct Page {
  std::vector<T> items{};
  std::optional<std::string> cursor{};
  bool operator==(const Page&) const = default;
};

template <class T, std::size_t n>
auto local_of_template() {
  struct Local {
    T value{};
    std::array<int, n> numbers{};
    bool operator==(const Local&) const = default;
  };
  return Local{};
}

template <class T>
struct Outside {
  struct Inside {
    T in{};
    bool operator==(const Inside&) const = default;
  };
};

TEST(Reflect, StructsOfTemplates) {
  expect_json(Page<Two>{{{1, "a"}}, "next"},
              R"({"items":[{"first":1,"second":"a"}],"cursor":"next"})");
  expect_json(Page<Page<int>>{{{{1, 2}, {}}}, {}}, R"({"items":[{"items":[1,2]}]})");
  expect_json(local_of_template<std::pair<int, std::string>, 2>(),
              R"({"value":[0,""],"numbers":[0,0]})");
  expect_json(Outside<std::map<std::string, int>>::Inside{{{"a", 1}}}, R"({"in":{"a":1}})");
}

struct Recursive {
  int n{};
  std::vector<Recursive> children{};
  std::unique_ptr<Recursive> next{};
  std::shared_ptr<Recursive> shared{};
  std::map<std::string, Recursive> named{};
};

TEST(Reflect, RecursiveStructs) {
  const std::string text =
      R"({"n":1,"children":[{"n":2,"children":[],"named":{}}],)"
      R"("next":{"n":3,"children":[],"next":{"n":4,"children":[],"named":{}},"named":{}},)"
      R"("shared":{"n":5,"children":[],"named":{}},)"
      R"("named":{"a":{"n":6,"children":[],"named":{}}}})";
  const auto tree = json::decode<Recursive>(text);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->children.at(0).n, 2);
  EXPECT_EQ(tree->next->next->n, 4);
  EXPECT_EQ(tree->shared->n, 5);
  EXPECT_EQ(tree->named.at("a").n, 6);
  EXPECT_EQ(json::encode(*tree), text);
}

// Compared by its own ==, which makes clang look at the struct before it is complete.
struct Directory {
  std::map<std::string, Directory> entries{};
  bool operator==(const Directory&) const = default;
};

TEST(Reflect, RecursiveStructsThatCompare) {
  expect_json(Directory{{{"usr", {{{"lib", {}}}}}}},
              R"({"entries":{"usr":{"entries":{"lib":{"entries":{}}}}}})");
}

struct Unusual {
  int Capital{};
  int _underscore{};
  int with_2_digits{};
  int größe{};
  int x{};
};

TEST(Reflect, UnusualNames) {
  EXPECT_EQ(json::encode(Unusual{1, 2, 3, 4, 5}),
            R"({"Capital":1,"_underscore":2,"with_2_digits":3,"größe":4,"x":5})");
}

// Names that mean something to godwit, as ordinary fields.
struct Column {
  std::string name{};
  bool operator==(const Column&) const = default;
};
struct Table {
  using value_type = int;
  std::vector<Column> fields{};
  bool unknown_members{};
  bool operator==(const Table&) const = default;
};

TEST(Reflect, FieldsCalledLikeDescriptions) {
  expect_json(Table{{{"a"}}, true}, R"({"fields":[{"name":"a"}],"unknown_members":true})");
}

struct Renamed {
  int kind{};
  std::string content_type{};
  std::string plain{};
  bool operator==(const Renamed&) const = default;

  static constexpr godwit::Field fields[] = {{.name = "kind", .rename = "class"},
                                             {.name = "content_type", .rename = "content-type/~ü"}};
};

TEST(Reflect, Rename) {
  expect_json(Renamed{1, "a", "b"}, R"({"class":1,"content-type/~ü":"a","plain":"b"})");
  EXPECT_EQ(json::decode<Renamed>(R"({"class":1,"content-type/~ü":2})").error().message,
            R"(/content-type~1~0ü: expected a string, got 2)");
  EXPECT_EQ(json::decode<Renamed>(R"({"kind":1})").error().message,
            R"(the member "class" is missing)");
}

// The descriptions may also stand in a std::array.
struct ArrayOfFields {
  int days = 3;
  static constexpr std::array<godwit::Field, 1> fields{{{.name = "days", .has_default = true}}};
};

TEST(Reflect, DescriptionsInStdArray) { EXPECT_EQ(json::decode<ArrayOfFields>("{}")->days, 3); }

TEST(Reflect, DescribedFromOutside) {
  expect_json(Foreign{1, "x"}, R"({"class":1,"label":"x"})");
  EXPECT_EQ(json::decode<Foreign>(R"({"class":1})")->label, "none");
  EXPECT_EQ(json::decode<Foreign>(R"({"class":1,"klass":2})").error().message,
            R"(unknown member "klass"; expected only "class", "label")");
}

}  // namespace
