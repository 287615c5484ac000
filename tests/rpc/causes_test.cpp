// How a call ended on this side is told by its cause, which nothing that the other side sends can
// imitate.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "godwit/rpc/message.hpp"
#include "godwit/rpc/peer.hpp"
#include "rpc_station.hpp"

namespace godwit::inline v0::rpc {
namespace {

using namespace std::chrono_literals;
using test::Station;

struct Caller : Station {
  using Station::Station;
  ~Caller() { peer->close(); }  // its callbacks write to `errors`
  CallHandle call(std::string_view method = "m") {
    return peer->call(method, no_params,
                      [this](Result<json::Value> r) { errors.push_back(std::move(r).error()); });
  }
  std::vector<Error> errors;
};

bool is_local(const Error& error) {
  return is_timeout(error) || is_cancelled(error) || is_connection_closed(error) ||
         is_busy(error) || is_not_executed(error) || error.cause == Cause::in_process;
}

TEST(Causes, NoCodeOnTheWireIsTakenForAnOutcomeOfThisSide) {
  Caller caller;
  int id = 0;
  for (const std::string code :
       {"-32000", "-32001", "-32002", "-32603", "-1099511627777", "-1099511627778"}) {
    caller.call();
    caller.receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(++id) + R"(,"error":{"code":)" +
                   code + R"(,"message":"Resource not found"}})");
    ASSERT_EQ(caller.errors.size(), static_cast<std::size_t>(id));
    EXPECT_FALSE(is_local(caller.errors.back())) << code;
    EXPECT_EQ(caller.errors.back().cause, Cause::peer);
    EXPECT_EQ(std::to_string(caller.errors.back().code), code);
  }
  const auto message =
      parse_message(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"slow"}})");
  ASSERT_TRUE(message);
  const Error& said = std::get<ErrorResponse>(*message->single()).error;
  EXPECT_EQ(said.cause, Cause::peer);
}

TEST(Causes, EachEndOfACallHasItsOwn) {
  Caller caller(nullptr, {.limits = {.pending_calls = 2}});
  caller.call();
  caller.pass(60s);
  EXPECT_TRUE(is_timeout(caller.errors.back()));
  EXPECT_FALSE(is_not_executed(caller.errors.back()));

  caller.peer->cancel(caller.call());
  EXPECT_TRUE(is_cancelled(caller.errors.back()));

  caller.call();
  caller.call();
  caller.call();
  ASSERT_EQ(caller.errors.size(), 3u);
  EXPECT_TRUE(is_busy(caller.errors.back()) && is_not_executed(caller.errors.back()));
  EXPECT_FALSE(is_connection_closed(caller.errors.back()));

  caller.peer->on_close(error("the cable was cut"));
  ASSERT_EQ(caller.errors.size(), 5u);
  EXPECT_TRUE(is_connection_closed(caller.errors.back()));
  EXPECT_FALSE(is_not_executed(caller.errors.back()) || is_busy(caller.errors.back()));

  caller.call();  // it is not sent any more
  EXPECT_TRUE(is_connection_closed(caller.errors.back()) && is_not_executed(caller.errors.back()));
}

TEST(Causes, ATransportCanFailOneCall) {
  for (const IdStyle ids : {IdStyle::sequential, IdStyle::uuid}) {
    Caller caller(nullptr, {.ids = ids});
    const Id first = *caller.peer->id_of(caller.call("first"));
    caller.call("second");
    const Error why{.code = -32000, .message = "refused", .cause = Cause::not_connected};
    caller.peer->on_failure(Id("another"), why);
    caller.peer->on_failure(Id(77), why);
    caller.peer->on_failure(Id(-1), why);
    EXPECT_TRUE(caller.errors.empty());
    caller.peer->on_failure(first, why);
    caller.peer->on_failure(first, why);
    ASSERT_EQ(caller.errors.size(), 1u);
    EXPECT_EQ(caller.errors[0], why);
    EXPECT_TRUE(is_not_executed(caller.errors[0]));
    EXPECT_EQ(caller.peer->pending(), 1u);
  }
}

TEST(Causes, AReceiverThatDoesNotCareGetsAMessage) {
  struct Plain : Receiver {
    void on_message(std::string_view message, std::size_t) override { got = message; }
    void on_unreadable(const Error&) override {}
    void on_close(const Error&) override {}
    std::string got;
  } plain;
  plain.on_failure(Id(7), Error{.code = -32000, .message = "refused"});
  EXPECT_TRUE(test::same_json(
      plain.got, R"({"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"refused"}})"));
}

TEST(Causes, WhatIsNoMessageIsShownToTheHost) {
  std::vector<std::string> garbage;
  PeerOptions options;
  options.garbage = [&](std::string_view text) { garbage.emplace_back(text); };
  Station station(nullptr, options);
  station.receive("Listening on stdio");
  station.receive(R"({"level":"info"})");
  station.receive(R"({"jsonrpc":"2.0","method":"known"})");
  station.peer->on_unreadable(invalid_request("the line is too long"));
  EXPECT_EQ(garbage, (std::vector<std::string>{"Listening on stdio", R"({"level":"info"})", ""}));
}

}  // namespace
}  // namespace godwit::inline v0::rpc
