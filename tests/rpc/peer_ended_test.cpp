#include <gtest/gtest.h>

#include "rpc_station.hpp"

using godwit::Error;
using godwit::Result;
using godwit::json::Value;
using godwit::rpc::PeerOptions;
using godwit::test::Station;

namespace {

PeerOptions noting(std::vector<std::string>& order) {
  PeerOptions options;
  options.ended = [&](const Error& reason) { order.push_back("ended " + reason.message); };
  return options;
}

}  // namespace

TEST(PeerEnded, IsToldOnceBeforeTheCallsFail) {
  for (const bool half : {true, false}) {
    std::vector<std::string> order;
    Station station(nullptr, noting(order));
    station.peer->call("x", Value(godwit::json::Object{}),
                       [&](Result<Value>) { order.push_back("failed"); });
    if (half) station.peer->end_of_input(godwit::error("gone"));
    station.peer->on_close(godwit::error(half ? "later" : "gone"));
    station.peer.reset();
    EXPECT_EQ(order, (std::vector<std::string>{"ended gone", "failed"}));
  }
}

TEST(PeerEnded, IsToldByTheDestructor) {
  std::vector<std::string> order;
  Station station(nullptr, noting(order));
  station.peer.reset();
  EXPECT_EQ(order.size(), 1u);
}

TEST(PeerEnded, WhatItThrowsGoesToTheLog) {
  PeerOptions options;
  options.ended = [](const Error&) { throw std::runtime_error("oops"); };
  Station station(nullptr, options);
  bool failed = false;
  station.peer->call("x", Value(godwit::json::Object{}), [&](Result<Value>) { failed = true; });
  station.peer->close();
  EXPECT_TRUE(failed);
  EXPECT_TRUE(station.logged("oops"));
}
