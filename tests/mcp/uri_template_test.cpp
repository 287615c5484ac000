#include "godwit/mcp/uri_template.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/work.hpp"
#include "godwit/json/value.hpp"
#include "test_data.hpp"

namespace godwit::inline v0 {
namespace {

using Values = std::map<std::string, std::string>;

UriTemplate parsed(std::string_view text) {
  auto result = UriTemplate::parse(text);
  EXPECT_TRUE(result) << text;
  return *result;
}

std::string reason(std::string_view text) {
  const auto result = UriTemplate::parse(text);
  return result ? "accepted" : result.error().message;
}

std::string expanded(std::string_view text, const json::Object& values) {
  const auto result = parsed(text).expand(values);
  return result ? *result : "error: " + result.error().message;
}

std::optional<Values> match(std::string_view text, std::string_view uri) {
  return parsed(text).match(uri);
}

json::Object object_of(const Values& values) {
  json::Object object;
  for (const auto& [name, value] : values) object.set(name, value);
  return object;
}

TEST(UriTemplate, TellsItsTextAndVariables) {
  const auto t = parsed("db://{table}/rows{/id}{?limit,id,last.name}#{%C3%A9_1:3}{list*}");
  EXPECT_EQ(t.text(), "db://{table}/rows{/id}{?limit,id,last.name}#{%C3%A9_1:3}{list*}");
  EXPECT_EQ(t.variables(),
            (std::vector<std::string>{"table", "id", "limit", "last.name", "%C3%A9_1", "list"}));
  EXPECT_TRUE(parsed("").variables().empty());
  const UriTemplate copy = t;
  EXPECT_EQ(copy, t);
  EXPECT_FALSE(copy == parsed("x"));
}

TEST(UriTemplate, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(reason("ab}"), "URI template: a '}' without its '{' at byte 2");
  EXPECT_EQ(reason("ab{c"), "URI template: a '{' without its '}' at byte 2");
  EXPECT_EQ(reason("a{}"), "URI template: an expression without a variable at byte 1");
  EXPECT_EQ(reason("{?}"), "URI template: a variable name was expected at byte 2");
  EXPECT_EQ(reason("{a,}"), "URI template: a variable name was expected at byte 3");
  EXPECT_EQ(reason("{a b}"), "URI template: a character that no variable name has at byte 2");
  EXPECT_EQ(reason("{a{b}}"), "URI template: a character that no variable name has at byte 2");
  EXPECT_EQ(reason("{a.}"), "URI template: a variable name that ends with a dot at byte 2");
  EXPECT_EQ(reason("{a:0}"), "URI template: a length from 1 to 9999 was expected at byte 3");
  EXPECT_EQ(reason("{a:10000}"), "URI template: a length from 1 to 9999 was expected at byte 3");
  EXPECT_EQ(reason("{!a}"), "URI template: an operator that RFC 6570 keeps for later at byte 1");
  EXPECT_EQ(reason("50%"), "URI template: a '%' without two hexadecimal digits at byte 2");
  EXPECT_EQ(reason("a b"),
            "URI template: a character that a URI cannot have (write it as %XX) at byte 1");
  EXPECT_EQ(reason("a\xff"), "URI template: text that is not UTF-8 at byte 1");
  EXPECT_EQ(reason(std::string(9000, 'a')), "URI template: longer than 8192 bytes");
  EXPECT_EQ(reason(std::string_view("{a\0}", 4)),
            "URI template: a character that no variable name has at byte 2");

  std::string many;
  for (int i = 0; i < 64; ++i) many += "{a}";
  EXPECT_EQ(reason(many), "accepted");
  EXPECT_EQ(reason(many + "{a}"), "URI template: more than 64 variables at byte 193");
}

TEST(UriTemplate, EveryTruncationIsTakenOrRefused) {
  for (const std::string_view text :
       {std::string_view("http://\xc3\xa9/{a}{+b,c:12}{#d*}{.e,f}{/g*}{;h}{?i,j%20k.l}{&m}%41"),
        std::string_view("{a:9999}{b*}{%C3%A9}x%FFy")}) {
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const auto t = UriTemplate::parse(text.substr(0, size));
      if (!t) {
        EXPECT_NE(t.error().message.find(" at byte "), std::string::npos);
        continue;
      }
      EXPECT_TRUE(t->expand({{"a", "1"}, {"b", json::Array{"x", 2}}}));
      t->match("http://%C3%A9/1x,y#z");
    }
  }
}

TEST(UriTemplate, ExpandsEveryKindOfValue) {
  EXPECT_EQ(expanded("{a}{b}{c}{d}", {{"a", 1}, {"b", -2.5}, {"c", true}, {"d", nullptr}}),
            "1-2.5true");
  EXPECT_EQ(expanded("{a}", {{"a", json::Value::integer("123456789012345678901234567890")}}),
            "123456789012345678901234567890");
  EXPECT_EQ(expanded("{?a,b*,c,d}", {{"a", json::Array{"x", nullptr, 1}},
                                     {"b", json::Object{{"k", "v w"}, {"n", nullptr}, {"e", ""}}},
                                     {"c", json::Array{nullptr}}}),
            "?a=x,1&k=v%20w&e=");
  EXPECT_EQ(expanded("{;a,b*,c*}",
                     {{"a", ""}, {"b", json::Array{"", "x"}}, {"c", json::Object{{"k", ""}}}}),
            ";a;b;b=x;k");
  EXPECT_EQ(expanded("{+a:2}", {{"a", "%41%42%43"}}), "%41%42");
  EXPECT_EQ(expanded("x{a}{?b}", {}), "x");
}

TEST(UriTemplate, RefusesValuesThatHaveNoForm) {
  EXPECT_TRUE(
      expanded("{a}", {{"a", json::Array{json::Value(json::Array{})}}}).starts_with("error: "));
  EXPECT_TRUE(expanded("{a}", {{"a", json::Object{{"b", json::Object{}}}}}).starts_with("error: "));
  EXPECT_TRUE(expanded("{a}", {{"a", "\xff"}}).starts_with("error: "));
  EXPECT_TRUE(expanded("{a*}", {{"a", json::Object{{"\xff", 1}}}}).starts_with("error: "));
  EXPECT_TRUE(expanded("{a}", {{"a", 1e308 * 10}}).starts_with("error: "));
  EXPECT_EQ(expanded("{a:1}", {{"a", json::Array{"x"}}}),
            "error: URI template: \"a\" is cut to a length, so it must be a string");
}

TEST(UriTemplate, MatchesSimpleVariables) {
  EXPECT_EQ(match("a/{b}/c", "a/x/c"), (Values{{"b", "x"}}));
  EXPECT_EQ(match("{a}", "%C3%A9%2f%25~"), (Values{{"a", "\xc3\xa9/%~"}}));
  EXPECT_EQ(match("{a,b}", "1,2"), (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(match("plain", "plain"), Values{});
  EXPECT_EQ(match("", ""), Values{});
  for (const char* uri : {"", "x/y", "x?y", "x#y", "x:y", "x,y", "x+y", "%", "%4", "%4g", "%C3",
                          "%C3%28", "%A9", "%ED%A0%80", "%F5%80%80%80", "\xff", "a\nb"}) {
    EXPECT_FALSE(match("{a}", uri)) << uri;
  }
  EXPECT_FALSE(match("plain", "plain2"));
  EXPECT_FALSE(match("", "x"));
  EXPECT_FALSE(match("{a,b}", "1"));
}

TEST(UriTemplate, SpellingDoesNotCount) {
  EXPECT_EQ(match("caf\xc3\xa9/{a}", "caf%c3%a9/1"), (Values{{"a", "1"}}));
  EXPECT_EQ(match("caf\xc3\xa9/{a}", "caf\xc3\xa9/J\xc3\xbcrgen K"),
            (Values{{"a", "J\xc3\xbcrgen K"}}));
  EXPECT_EQ(match("%7Eme/{a}", "~me/%31"), (Values{{"a", "1"}}));
  EXPECT_EQ(match("x%FF{a}", "x%ffb"), (Values{{"a", "b"}}));
  // An encoded reserved character is not that character.
  EXPECT_FALSE(match("a/{b}", "a%2Fb"));
  EXPECT_FALSE(match("a%2F{b}", "a/b"));
  // Half a character belongs to no variable.
  EXPECT_FALSE(match("%C3{a}", "%C3%A9"));
}

TEST(UriTemplate, MatchesReservedVariables) {
  EXPECT_EQ(match("file://{+path}", "file:///etc/a?b#c"), (Values{{"path", "/etc/a?b#c"}}));
  EXPECT_EQ(match("{+path}/{name}", "/a/b/c"), (Values{{"path", "/a/b"}, {"name", "c"}}));
  EXPECT_EQ(match("{+a,b}", "1,2,3"), (Values{{"a", "1,2"}, {"b", "3"}}));
  EXPECT_EQ(match("x{#part}", "x#a/b"), (Values{{"part", "a/b"}}));
  EXPECT_EQ(match("x{#part}", "x#"), (Values{{"part", ""}}));
  EXPECT_EQ(match("x{#part}", "x"), Values{});
  EXPECT_FALSE(match("file://{+path}", "file://"));
  EXPECT_FALSE(match("{+path}", "%FF"));
}

TEST(UriTemplate, MatchesSegmentsAndLabels) {
  EXPECT_EQ(match("/users{/id}", "/users/7"), (Values{{"id", "7"}}));
  EXPECT_EQ(match("/users{/id}", "/users"), Values{});
  EXPECT_EQ(match("x{/a,b}", "x/1/2"), (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(match("x{.a,b}", "x.1.2"), (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(match("www{.a}", "www.example.com"), (Values{{"a", "example.com"}}));
  EXPECT_EQ(match("files{/path*}/end", "files/a/b/c/end"), (Values{{"path", "a/b/c"}}));
  EXPECT_EQ(match("{/path*}{name}", "/a/bc"), (Values{{"path", "a/b"}, {"name", "c"}}));
  EXPECT_EQ(match("{list*}", "red,green%2C,blue"), (Values{{"list", "red,green,,blue"}}));
  EXPECT_EQ(match("{.a*}", ".x.y"), (Values{{"a", "x.y"}}));
  EXPECT_EQ(match("files{/path*}/end", "files/end"), Values{});
  for (const char* uri : {"files", "files/", "files//end", "files/a//end", "files//a/end"}) {
    EXPECT_FALSE(match("files{/path*}/end", uri)) << uri;
  }
  EXPECT_FALSE(match("/users{/id}", "/users/"));
  EXPECT_FALSE(match("/users{/id}", "/users/1/2"));
  EXPECT_FALSE(match("x{/a,b}", "x/1"));
  EXPECT_FALSE(match("{list*}", "red,,blue"));
  EXPECT_FALSE(match("{list*}", "red,"));
}

TEST(UriTemplate, MatchesParametersInAnyOrder) {
  const auto t = parsed("s{?a,b,c}");
  EXPECT_EQ(t.match("s"), Values{});
  EXPECT_EQ(t.match("s?a=1"), (Values{{"a", "1"}}));
  EXPECT_EQ(t.match("s?c=3&a=1"), (Values{{"a", "1"}, {"c", "3"}}));
  EXPECT_EQ(t.match("s?c=3&b=%26&a="), (Values{{"a", ""}, {"b", "&"}, {"c", "3"}}));
  for (const char* uri : {"s?", "s?a", "s?a=1&", "s?&a=1", "s?a=1&a=1", "s?d=1", "s?a=1&d=1",
                          "s&a=1", "s?a=1?b=2", "s?aa=1", "s?=1", "s?a=1;b=2", "s?a=x/y"}) {
    EXPECT_FALSE(t.match(uri)) << uri;
  }
  EXPECT_EQ(match("s?x=1{&a,b}", "s?x=1&b=2&a=1"), (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(match("s{?a}{&b}", "s?a=1&b=2"), (Values{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(match("s{;a,b}", "s;b;a=1"), (Values{{"a", "1"}, {"b", ""}}));
  EXPECT_EQ(match("s{;a,b}", "s;b=;a"), (Values{{"a", ""}, {"b", ""}}));
  EXPECT_EQ(match("s{;a}=x", "s;a=x"), (Values{{"a", ""}}));
  EXPECT_EQ(match("s{?a,a.b}", "s?a.b=1&a=2"), (Values{{"a", "2"}, {"a.b", "1"}}));
  EXPECT_EQ(match("s{?a}xyz", "s?a=1xyz"), (Values{{"a", "1"}}));
  EXPECT_EQ(match("s{?a*,b}", "s?a=1&b=2&a=3"), (Values{{"a", "1,3"}, {"b", "2"}}));
  EXPECT_EQ(match("s{?Stra%C3%9Fe}", "s?Stra%c3%9fe=1"), (Values{{"Stra%C3%9Fe", "1"}}));
}

TEST(UriTemplate, CutsAmbiguousTextForTheEarlierVariable) {
  EXPECT_EQ(match("{a}{b}", "wxyz"), (Values{{"a", "wxy"}, {"b", "z"}}));
  EXPECT_EQ(match("{+a}{+b}", "x/y/z"), (Values{{"a", "x/y/"}, {"b", "z"}}));
  EXPECT_EQ(match("{a}-{b}", "1-2-3"), (Values{{"a", "1-2"}, {"b", "3"}}));
  EXPECT_EQ(match("{/a}{/b}", "/x"), (Values{{"a", "x"}}));
  EXPECT_EQ(match("{/a}{/b}", "/x/y"), (Values{{"a", "x"}, {"b", "y"}}));
  EXPECT_EQ(match("{+a}aab", "aaaaab"), (Values{{"a", "aaa"}}));
  EXPECT_EQ(match("{+a}/x{/b*}", "p/x/q/x/r"), (Values{{"a", "p/x/q"}, {"b", "r"}}));
  EXPECT_FALSE(match("{a}{b}", "x"));
}

TEST(UriTemplate, LengthsLimitWhatIsTaken) {
  EXPECT_EQ(match("{a:2}{b}", "wxyz"), (Values{{"a", "wx"}, {"b", "yz"}}));
  EXPECT_EQ(match("{a:1}{b}", "%C3%A9x"), (Values{{"a", "\xc3\xa9"}, {"b", "x"}}));
  EXPECT_EQ(match("{+a:3}", "/ab"), (Values{{"a", "/ab"}}));
  EXPECT_FALSE(match("{+a:3}", "/abc"));
  EXPECT_FALSE(match("{a:2}", "abc"));
  EXPECT_EQ(match("x{?a:2,b}", "x?a=12&b=123"), (Values{{"a", "12"}, {"b", "123"}}));
  EXPECT_FALSE(match("x{?a:2,b}", "x?a=123"));
}

TEST(UriTemplate, AVariableNamedTwiceHasOneValue) {
  EXPECT_EQ(match("{a}/{a}", "x/x"), (Values{{"a", "x"}}));
  EXPECT_FALSE(match("{a}/{a}", "x/y"));
  EXPECT_FALSE(match("{/a}{?a}", "/x"));
  EXPECT_EQ(match("{/a}{?a}", "/x?a=x"), (Values{{"a", "x"}}));
  EXPECT_EQ(match("{/a:1,a}", "/v/value"), (Values{{"a", "value"}}));
  EXPECT_FALSE(match("{/a:1,a}", "/w/value"));
  EXPECT_FALSE(match("{/a:2,a}", "/v/value"));
}

TEST(UriTemplate, ExpandTurnsAMatchBack) {
  const struct {
    std::string_view text;
    std::string_view uri;
  } cases[] = {
      {"db://{table}/rows{/id}{?limit,offset}", "db://birds/rows/7?limit=1&offset=2"},
      {"db://{table}/rows{/id}{?limit,offset}", "db://birds/rows?offset=%20"},
      {"{a}{b:3}.{c}{.d}", "%C3%A9abc.d.e"},
      {"x{;a,b}{&c}", "x;a;b=1&c="},
      {"file://{+path}", "file:///a/b%20c?d"},
      {"page{#part}", "page#a/b"},
      {"{x,y}{/z}", "1,2/%2F"},
  };
  for (const auto& [text, uri] : cases) {
    const auto t = parsed(text);
    const auto values = t.match(uri);
    ASSERT_TRUE(values) << text << " " << uri;
    EXPECT_EQ(*t.expand(object_of(*values)), uri);
  }
}

// Time and memory: whatever the URI and the template, some passes over the URI per expression.

TEST(UriTemplate, HostileUrisAreReadInLinearTime) {
  const std::size_t size = UriTemplate::max_uri_bytes;
  std::string runs, reserved, optional, parameters, segments, literals;
  for (int i = 0; i < 63; ++i) {
    runs += "{v" + std::to_string(i) + "}";
    reserved += "{+v" + std::to_string(i) + "}/";
    optional += "{/v" + std::to_string(i) + "*}";
    segments += "{v" + std::to_string(i) + "*}a";
    parameters += (i ? ",v" : "{&v") + std::to_string(i) + "*";
    literals += "{&a" + std::to_string(i) + "*}";
  }
  parameters += "}";
  const struct {
    std::string text;
    std::string_view unit;
  } cases[] = {
      {runs, "a"},
      {runs, "%C3%A9"},
      {runs, "\xff"},
      {reserved, "/a"},
      {optional, "/a"},
      {segments, "a,"},
      {segments, "a"},
      {parameters, "&v1=a"},
      {parameters, "&"},
      {literals, "&a1=1"},
      {"{+v}" + std::string(8000, 'a') + "b{+w}", "a"},
      {"{+v}" + std::string(4000, 'a') + "{+w}" + std::string(4000, 'a') + "{+x}", "a"},
      {"{&a*}{&a*}{&a*}{+b}!{+c}", "&a=1"},
      {"{a:9999}{b:9999}{c:9999}{d:9999}", "a"},
      {"x{&" + std::string(8000, 'a') + "}", "&aaaaaaa"},
  };
  for (const auto& [text, unit] : cases) {
    const std::uint64_t before = detail::base::work_done();
    std::string uri;
    while (uri.size() + unit.size() < size / 8) uri += unit;
    parsed(text).match(uri);
    // Nearly: only the last node has nothing to take.
    EXPECT_FALSE(parsed(text + "[{last}").match(uri + "[")) << text.substr(0, 40) << " " << unit;
    // Three looks at each byte for each of the 63 nodes, and not one more for a longer text.
    EXPECT_LE(detail::base::work_done() - before, 200 * (2 * uri.size() + text.size()))
        << text.substr(0, 40) << " " << unit;
  }

  EXPECT_EQ(parsed("{a}").match(std::string(size, 'a'))->at("a").size(), size);
  EXPECT_FALSE(parsed("{a}").match(std::string(size + 1, 'a')));
  EXPECT_EQ(parsed(runs).match(std::string(size, 'a'))->at("v0").size(), size - 62);
}

// The public collection of RFC 6570 cases.

void check_case(const json::Object& values, const json::Value& test) {
  const std::string text(*test[0].as_string());
  SCOPED_TRACE(text);
  const auto t = UriTemplate::parse(text);
  std::optional<std::string> uri;
  if (t) {
    if (auto result = t->expand(values)) uri = *std::move(result);
  }
  const json::Value& wanted = test[1];
  if (wanted.is_bool()) {
    EXPECT_FALSE(uri) << "must be refused";
    return;
  }
  ASSERT_TRUE(uri);
  if (const auto one = wanted.as_string()) {
    EXPECT_EQ(*uri, *one);
  } else {
    bool found = false;
    for (const json::Value& any : *wanted.as_array()) found = found || any == json::Value(*uri);
    EXPECT_TRUE(found) << *uri;
  }
  // Whatever an expansion matches is the same expansion again, if it is made of plain strings.
  if (text.find_first_of("+#*") == std::string::npos) {
    const auto back = t->match(*uri);
    EXPECT_EQ(back ? *t->expand(object_of(*back)) : *uri, *uri);
  }
}

TEST(UriTemplate, PublicCases) {
  const auto folder = test::test_data("uritemplate-test");
  if (!folder) GTEST_SKIP() << "GODWIT_TEST_DATA has no uritemplate-test";
  int cases = 0;
  for (const char* file : {"spec-examples.json", "spec-examples-by-section.json",
                           "extended-tests.json", "negative-tests.json"}) {
    SCOPED_TRACE(file);
    const auto root = json::parse(test::read_file(*folder / file));
    ASSERT_TRUE(root) << root.error().message;
    for (const json::Member& group : *root->as_object()) {
      SCOPED_TRACE(group.key);
      const json::Object& values = *group.value["variables"].as_object();
      for (const json::Value& test : *group.value["testcases"].as_array()) {
        check_case(values, test);
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, 200);
}

}  // namespace
}  // namespace godwit::inline v0
