#include "godwit/rpc/router.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using test::error_of;
using test::message_of;
using test::same_json;
using test::Station;

enum class Unit { celsius, kelvin };

struct Weather {
  std::string city{};
  std::optional<int> days{};
  Unit unit{};
};

int twice(int x) { return 2 * x; }
int negated(int x) noexcept { return -x; }

struct Base {
  int inherited(int x) { return x + offset; }
  int offset = 1000;
};
struct Counter : Base {
  int add(int x) { return total += x; }
  int peek() const { return total; }
  int quick(int x) noexcept { return x + 1; }
  int look(int x) const noexcept { return total + x; }
  int total = 0;
};

/// Calls a method of a router and gives the result as text, or `CODE SENTENCE`.
std::string call(const std::shared_ptr<Router>& router, std::string_view method,
                 std::string_view params = {}) {
  Station station(router);
  std::string request = R"({"jsonrpc":"2.0","id":1,"method":)" + json::quote(method);
  if (!params.empty()) request.append(",\"params\":").append(params);
  const std::string answer = station.receive(request + "}");
  const auto value = json::parse(answer);
  EXPECT_TRUE(value) << answer;
  if (!value) return answer;
  if (value->contains("result")) return (*value)["result"].dump();
  return (*value)["error"]["code"].dump() + " " + message_of(answer);
}

TEST(Router, BindsFunctionsLambdasAndMembers) {
  auto router = std::make_shared<Router>();
  Counter counter;
  const Counter fixed{{}, 7};
  int calls = 0;
  router->on("free", twice)
      .on("pointer", &twice)
      .on("noexcept", negated)
      .on("lambda", [](int a, int b) { return a * b; })
      .on("noexcept lambda", [](int a) noexcept { return a; })
      .on("mutable", [n = 0]() mutable { return ++n; })
      .on("capture", [&calls] { return ++calls; })
      .on("member", counter, &Counter::add)
      .on("const member", counter, &Counter::peek)
      .on("noexcept member", counter, &Counter::quick)
      .on("const noexcept member", counter, &Counter::look)
      .on("inherited", counter, &Counter::inherited)
      .on("const object", fixed, &Counter::peek)
      .on("named member", {"x"}, counter, &Counter::add)
      .on("function object", std::function<int(int)>(twice));
  EXPECT_EQ(call(router, "free", "[4]"), "8");
  EXPECT_EQ(call(router, "pointer", "[5]"), "10");
  EXPECT_EQ(call(router, "noexcept", "[5]"), "-5");
  EXPECT_EQ(call(router, "lambda", "[6,7]"), "42");
  EXPECT_EQ(call(router, "noexcept lambda", "[6]"), "6");
  EXPECT_EQ(call(router, "mutable"), "1");
  EXPECT_EQ(call(router, "mutable", "[]"), "2");
  EXPECT_EQ(call(router, "capture", "{}"), "1");
  EXPECT_EQ(call(router, "member", "[5]"), "5");
  EXPECT_EQ(call(router, "named member", R"({"x":5})"), "10");
  EXPECT_EQ(call(router, "const member"), "10");
  EXPECT_EQ(call(router, "noexcept member", "[1]"), "2");
  EXPECT_EQ(call(router, "const noexcept member", "[1]"), "11");
  EXPECT_EQ(call(router, "inherited", "[1]"), "1001");
  EXPECT_EQ(call(router, "const object"), "7");
  EXPECT_EQ(call(router, "function object", "[21]"), "42");
  EXPECT_EQ(router->methods().size(), 15u);
  EXPECT_EQ(router->methods().front(), "capture");
}

TEST(Router, TakesNamedAndPositionalParametersInOneHandler) {
  auto router = std::make_shared<Router>();
  router->on("subtract", {"minuend", "subtrahend"}, [](int a, int b) { return a - b; });
  EXPECT_EQ(call(router, "subtract", "[42,23]"), "19");
  EXPECT_EQ(call(router, "subtract", R"({"subtrahend":23,"minuend":42})"), "19");
  EXPECT_EQ(call(router, "subtract", R"({"subtrahend":23,"minuend":42,"more":1})"), "19");
  EXPECT_EQ(call(router, "subtract", "[42]"),
            R"(-32602 Invalid params: the parameter "subtrahend" is missing)");
  EXPECT_EQ(call(router, "subtract"),
            R"(-32602 Invalid params: the parameter "minuend" is missing)");
  EXPECT_EQ(call(router, "subtract", "[1,2,3]"),
            "-32602 Invalid params: expected at most 2 parameters, got an array of 3");
  EXPECT_EQ(call(router, "subtract", R"({"minuend":1,"subtrahend":"x"})"),
            R"(-32602 Invalid params: /subtrahend: expected an integer, got "x")");
  EXPECT_EQ(call(router, "subtract", R"([1,"x"])"),
            R"(-32602 Invalid params: /subtrahend: expected an integer, got "x")");
  EXPECT_EQ(call(router, "subtract", R"({"minuend":1,"Subtrahend":2})"),
            R"(-32602 Invalid params: the parameter "subtrahend" is missing)");
}

TEST(Router, TakesUnnamedParametersByPosition) {
  auto router = std::make_shared<Router>();
  router->on("join",
             [](std::string a, std::optional<std::string> b) { return a + b.value_or("-"); });
  router->on("double", [](double x) { return 2 * x; });
  router->on("maybe", [](std::optional<int> x) { return x.value_or(-1); });
  router->on("unit", [](Unit unit) { return unit; });
  EXPECT_EQ(call(router, "join", R"(["a","b"])"), R"("ab")");
  EXPECT_EQ(call(router, "join", R"(["a"])"), R"("a-")");
  EXPECT_EQ(call(router, "join", R"(["a",null])"), R"("a-")");
  EXPECT_EQ(call(router, "join", "[]"), "-32602 Invalid params: the parameter 0 is missing");
  EXPECT_EQ(call(router, "join", "[1]"), "-32602 Invalid params: /0: expected a string, got 1");
  EXPECT_EQ(call(router, "join", R"({"a":"x"})"),
            "-32602 Invalid params: expected parameters by position, in an array, got an object");
  // A scalar can never be the params as a whole, so one alone comes by position, too.
  EXPECT_EQ(call(router, "double", "[4]"), "8.0");
  EXPECT_EQ(call(router, "double"), "-32602 Invalid params: the parameter 0 is missing");
  EXPECT_EQ(call(router, "double", "[1,2]"),
            "-32602 Invalid params: expected at most 1 parameters, got an array of 2");
  EXPECT_EQ(call(router, "maybe", "[]"), "-1");
  EXPECT_EQ(call(router, "maybe"), "-1");
  EXPECT_EQ(call(router, "maybe", "[3]"), "3");
  EXPECT_EQ(call(router, "unit", R"(["kelvin"])"), R"("kelvin")");
}

TEST(Router, TakesAStructByNameOrByPosition) {
  auto router = std::make_shared<Router>();
  router->on("weather", [](Weather in) { return in; });
  EXPECT_EQ(call(router, "weather", R"({"city":"Oslo","unit":"kelvin","days":3})"),
            R"({"city":"Oslo","days":3,"unit":"kelvin"})");
  EXPECT_EQ(call(router, "weather", R"(["Oslo",null,"celsius"])"),
            R"({"city":"Oslo","unit":"celsius"})");
  EXPECT_EQ(call(router, "weather", R"({"city":"Oslo"})").substr(0, 6), "-32602");
  EXPECT_NE(call(router, "weather", R"({"city":"Oslo"})").find("unit"), std::string::npos);
  EXPECT_NE(call(router, "weather").find("city"), std::string::npos);
  EXPECT_EQ(call(router, "weather", R"({"city":"Oslo","unit":"warm"})"),
            R"(-32602 Invalid params: /unit: expected one of "celsius", "kelvin", got "warm")");
  EXPECT_EQ(call(router, "weather", R"(["Oslo",1,"kelvin",4])").substr(0, 6), "-32602");
}

TEST(Router, SaysWhereInTheDataOfTheError) {
  auto router = std::make_shared<Router>();
  router->on("weather", [](Weather in) { return in; });
  Station station(router);
  const auto answer = json::parse(station.receive(
      R"({"jsonrpc":"2.0","id":1,"method":"weather","params":{"city":7,"unit":"kelvin"}})"));
  EXPECT_NE((*answer)["error"]["data"].dump().find("/city"), std::string::npos) << answer->dump();
}

TEST(Router, TakesOtherParamsWhole) {
  auto router = std::make_shared<Router>();
  router->on("value", [](json::Value all) { return all; });
  router->on("view", [](json::View all) { return all.size(); });
  router->on("raw", [](json::RawJson all) { return all.text; });
  router->on("list", [](const std::vector<int>& all) { return all.size(); });
  router->on("map", [](std::map<std::string, int> all) { return all; });
  router->on("tuple", [](std::tuple<int, std::string> both) { return std::get<1>(both); });
  EXPECT_EQ(call(router, "value", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(call(router, "value"), "null");
  EXPECT_EQ(call(router, "view", "[1,2,3]"), "3");
  EXPECT_EQ(call(router, "raw", "[ 1 ]"), R"("[ 1 ]")");
  EXPECT_EQ(call(router, "list", "[1,2]"), "2");
  EXPECT_EQ(call(router, "list", R"([1,"x"])"),
            R"(-32602 Invalid params: /1: expected an integer, got "x")");
  EXPECT_EQ(call(router, "map", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(call(router, "tuple", R"([1,"x"])"), R"("x")");
}

TEST(Router, GivesTheContextWherever) {
  auto router = std::make_shared<Router>();
  router->on("first",
             [](Context& cx, int a) { return std::string(cx.method()) + std::to_string(a); });
  router->on("last", {"a"}, [](int a, Context& cx) { return cx.is_notification() ? -a : a; });
  router->on("only", [](Context& cx) { return *cx.user<int>(); });
  router->on("peer", [](Context& cx) {
    cx.notify("progress", json::Array{1});
    return cx.peer() != nullptr && !cx.cancelled().stop_possible();
  });
  EXPECT_EQ(call(router, "first", "[7]"), R"("first7")");
  EXPECT_EQ(call(router, "last", R"({"a":7})"), "7");
  Station station(router, {.user = std::make_shared<int>(99)});
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"only"})"),
            R"({"jsonrpc":"2.0","id":1,"result":99})");
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"peer"})"),
            "{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":[1]}\n"
            R"({"jsonrpc":"2.0","id":1,"result":true})");
}

TEST(Router, AnswersWithWhatIsReturned) {
  auto router = std::make_shared<Router>();
  router->on("nothing", [] {});
  router->on("text", [] { return "literal"; });
  router->on("good", []() -> Result<int> { return 5; });
  router->on("bad", []() -> Result<int> { return application_error(1001, "no bird"); });
  router->on("data", []() -> Result<int> {
    return Error{.code = 7, .message = "m", .data = R"({"a":1})"};
  });
  router->on("done", []() -> Result<void> { return {}; });
  router->on("not done", []() -> Result<void> { return internal_error("later"); });
  router->on("empty", []() -> std::optional<int> { return std::nullopt; });
  EXPECT_EQ(call(router, "nothing"), "null");
  EXPECT_EQ(call(router, "text"), R"("literal")");
  EXPECT_EQ(call(router, "good"), "5");
  EXPECT_EQ(call(router, "bad"), "1001 no bird");
  EXPECT_EQ(call(router, "done"), "null");
  EXPECT_EQ(call(router, "not done"), "-32603 Internal error: later");
  EXPECT_EQ(call(router, "empty"), "null");
  Station station(router);
  EXPECT_EQ(station.receive(R"({"jsonrpc":"2.0","id":1,"method":"data"})"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"m","data":{"a":1}}})");
}

TEST(Router, FallsBack) {
  auto router = std::make_shared<Router>();
  router->on("known", [] { return 1; });
  EXPECT_EQ(call(router, "other"), R"(-32601 Method not found: there is no method "other")");
  EXPECT_EQ(call(router, "Known"), R"(-32601 Method not found: there is no method "Known")");
  EXPECT_EQ(call(router, std::string_view("known\0", 6)).substr(0, 6), "-32601");
  router->fallback([](Context& cx, json::Value params) -> Result<json::Value> {
    if (cx.method() == "nope") return method_not_found(cx.method());
    return json::Value(json::Array{cx.method(), params});
  });
  EXPECT_EQ(call(router, "other", "[1]"), R"(["other",[1]])");
  EXPECT_EQ(call(router, "known"), "1");
  EXPECT_EQ(call(router, "nope").substr(0, 6), "-32601");
}

TEST(Router, RefusesWhatCannotWork) {
  Router router;
  EXPECT_THROW(router.on("rpc.list", [] {}), std::invalid_argument);
  EXPECT_THROW(router.on("rpc.", [] {}), std::invalid_argument);
  EXPECT_NO_THROW(router.on("rpc", [] {}));
  EXPECT_NO_THROW(router.on("rpcx.list", [] {}));
  EXPECT_THROW(router.on("m", {"a"}, [](int, int) {}), std::invalid_argument);
  EXPECT_THROW(router.on("m", {"a", "b", "c"}, [](int, int) {}), std::invalid_argument);
  EXPECT_THROW(router.on("m", {"a", "b"}, [](int, Context&) {}), std::invalid_argument);
  EXPECT_NO_THROW(router.on("m", {"a", "b"}, [](int, Context&, int) {}));
  try {
    router.on("slow", blocking([] {}));
    FAIL() << "a blocking handler without an executor";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("executor"), std::string::npos) << e.what();
  }
  EXPECT_EQ(router.find("slow"), nullptr);
}

TEST(Router, ReplacesAMethodThatIsBoundAgain) {
  auto router = std::make_shared<Router>();
  router->on("m", [] { return 1; });
  router->on("m", [] { return 2; });
  EXPECT_EQ(call(router, "m"), "2");
  EXPECT_EQ(router->methods(), std::vector<std::string>{"m"});
}

TEST(Router, HasManyMethods) {
  auto router = std::make_shared<Router>();
  for (int i = 0; i < 1000; ++i) router->on("m" + std::to_string(i), [i] { return i; });
  EXPECT_EQ(call(router, "m0"), "0");
  EXPECT_EQ(call(router, "m999"), "999");
  EXPECT_EQ(call(router, "m1000").substr(0, 6), "-32601");
}

// A struct sees every name while it is decoded, so nobody looks for twins beforehand. What is
// refused, and how, must not depend on that.
TEST(Router, RefusesNamesThatOccurTwiceWhateverTheHandlerReads) {
  struct Point {
    int x{};
    int y{};
  };
  int called = 0;
  int seen = 0;
  const auto answer = [&](bool middleware, std::string_view method, std::string_view params) {
    auto router = std::make_shared<Router>();
    router->on("struct", [&](Point) { ++called; });
    router->on("any", [&](json::Value) { ++called; });
    if (middleware) {
      router->use({.before = [&](Context&) -> Result<void> {
        ++seen;
        return {};
      }});
    }
    test::Station station(router);
    return station.receive(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) +
                           R"(","params":)" + std::string(params) + "}");
  };
  for (const bool middleware : {false, true}) {
    for (const char* method : {"struct", "any", "nobody"}) {
      for (const char* params : {
               R"({"x":1,"y":2,"x":1})",                        // a known name
               R"({"x":1,"y":2,"z":3,"z":4})",                  // an unknown one
               R"({"z":1,"x":1,"y":2,"z":4})",                  //
               R"({"x":1,"y":2,"_meta":{"a":1,"b":2,"a":3}})",  // inside _meta
               R"({"x":1,"y":"no","x":1})",                     // and a mistake that comes first
           }) {
        const std::string text = answer(middleware, method, params);
        EXPECT_EQ(test::error_of(text), "-32600 1") << method << params;
        EXPECT_THAT(test::message_of(text), testing::HasSubstr("occurs twice in")) << params;
      }
    }
  }
  EXPECT_EQ(called, 0);
  EXPECT_EQ(seen, 0);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
