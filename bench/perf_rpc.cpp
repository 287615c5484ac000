// Whole dispatch, bytes to bytes: a 280-byte typed call through Peer and Router, beside simdjson's
// DOM parsing of the same bytes alone. The goal: at most 3 times that with borrowed text, 4.5 times
// with owned strings.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <godwit/rpc.hpp>
#include <memory>
#include <string>

#include "messages.hpp"

namespace {

namespace rpc = godwit::rpc;

/// Takes the messages and forgets them, keeping the buffer, as a transport does after a write.
class Forget final : public rpc::Output {
 public:
  std::string& output() override { return buffer_; }
  void finish(const rpc::Outbound&) override {
    benchmark::DoNotOptimize(buffer_.data());
    buffer_.clear();
  }
  void flush() override {}

 private:
  std::string buffer_;
};

std::string padded(std::string text) {
  text.reserve(text.size() + godwit::json::Document::padding);
  return text;
}

void simdjson_dom_alone(benchmark::State& state) {
  const std::string text = padded(bench::small_call);
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(text.data(), text.size(), false).get(root)) state.SkipWithError("parse");
    benchmark::DoNotOptimize(root);
  }
}

template <class Order>
void dispatch(benchmark::State& state) {
  auto router = std::make_shared<rpc::Router>();
  router->on("place_order", [](const Order& order) {
    return bench::Placed{.order = order.quantity, .symbol = "GODW.NZ", .limit = order.limit};
  });
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    router->on("method_" + std::to_string(i), [](int n) { return n; });
  }
  Forget output;
  rpc::Peer peer(output, router);
  const std::string text = padded(bench::small_call);
  for (auto _ : state) peer.on_message(text, godwit::json::Document::padding);
}

void dispatch_raw(benchmark::State& state) {
  auto router = std::make_shared<rpc::Router>();
  router->on("place_order", [](godwit::RawView params) { return params; });
  Forget output;
  rpc::Peer peer(output, router);
  const std::string text = padded(bench::small_call);
  for (auto _ : state) peer.on_message(text, godwit::json::Document::padding);
}

BENCHMARK(simdjson_dom_alone);
BENCHMARK(dispatch<bench::BorrowedOrder>)->ArgName("methods")->Arg(0)->Arg(10'000);
BENCHMARK(dispatch<bench::OwnedOrder>)->ArgName("methods")->Arg(0);
BENCHMARK(dispatch_raw);

}  // namespace

BENCHMARK_MAIN();
