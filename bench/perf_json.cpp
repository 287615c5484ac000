// Parsing, decoding and writing beside the libraries people use today, in one run. Only the ratios
// mean anything: absolute times depend on the machine and its neighbours.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <boost/json.hpp>
#include <godwit/json.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "messages.hpp"

namespace {

namespace json = godwit::json;

std::string padded(std::string text) {
  text.reserve(text.size() + json::Document::padding);
  return text;
}
const std::string& message(const benchmark::State& state) {
  static const std::string small = padded(bench::small_call);
  static const std::string large = padded(bench::large_call());
  return state.range(0) == 0 ? small : large;
}
void sizes(benchmark::internal::Benchmark* b) { b->ArgName("large")->Arg(0)->Arg(1); }
void finish(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(message(state).size()));
}

// Parse.

void parse_simdjson_dom(benchmark::State& state) {
  const std::string& text = message(state);
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(text.data(), text.size(), false).get(root)) state.SkipWithError("parse");
    benchmark::DoNotOptimize(root);
  }
  finish(state);
}
void parse_godwit_document(benchmark::State& state) {
  const std::string& text = message(state);
  json::Document document;
  const json::ParseOptions options = json::ParseOptions::from(godwit::Limits{});
  for (auto _ : state) {
    auto root = document.parse(text, options, json::Document::padding);
    if (!root) state.SkipWithError("parse");
    benchmark::DoNotOptimize(root);
  }
  finish(state);
}
void parse_godwit_value(benchmark::State& state) {
  const std::string& text = message(state);
  for (auto _ : state) benchmark::DoNotOptimize(json::parse(text));
  finish(state);
}
void parse_boost(benchmark::State& state) {
  const std::string& text = message(state);
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::parse(text));
  finish(state);
}
void parse_nlohmann(benchmark::State& state) {
  const std::string& text = message(state);
  for (auto _ : state) benchmark::DoNotOptimize(nlohmann::json::parse(text));
  finish(state);
}
BENCHMARK(parse_simdjson_dom)->Apply(sizes);
BENCHMARK(parse_godwit_document)->Apply(sizes);
BENCHMARK(parse_godwit_value)->Apply(sizes);
BENCHMARK(parse_boost)->Apply(sizes);
BENCHMARK(parse_nlohmann)->Apply(sizes);

// Text to struct: the params of the small call.

template <class Order>
void decode_godwit(benchmark::State& state) {
  const std::string text = padded(bench::small_call);
  json::Document document;
  for (auto _ : state) {
    auto root = document.parse(text, {}, json::Document::padding);
    auto order = json::decode<Order>(root->find("params"));
    if (!order) state.SkipWithError("decode");
    benchmark::DoNotOptimize(order);
  }
}
void decode_simdjson_dom(benchmark::State& state) {
  const std::string text = padded(bench::small_call);
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(text.data(), text.size(), false).get(root)) state.SkipWithError("parse");
    const simdjson::dom::element params = root["params"];
    bench::BorrowedOrder order{};
    order.symbol = params["symbol"];
    order.account = params["account"];
    order.side = params["side"];
    order.quantity = params["quantity"];
    order.limit = params["limit"];
    order.stop = params["stop"];
    order.client_tag = params["client_tag"];
    order.day_only = params["day_only"];
    order.timeout_ms = static_cast<std::uint32_t>(std::uint64_t(params["timeout_ms"]));
    order.urgency = static_cast<int>(std::int64_t(params["urgency"]));
    benchmark::DoNotOptimize(order);
  }
}
void decode_boost(benchmark::State& state) {
  for (auto _ : state) {
    const boost::json::value root = boost::json::parse(bench::small_call);
    const boost::json::object& params = root.at("params").as_object();
    bench::OwnedOrder order{};
    order.symbol = params.at("symbol").as_string().c_str();
    order.account = params.at("account").as_string().c_str();
    order.side = params.at("side").as_string().c_str();
    order.quantity = params.at("quantity").to_number<std::int64_t>();
    order.limit = params.at("limit").to_number<double>();
    order.stop = params.at("stop").to_number<double>();
    order.client_tag = params.at("client_tag").as_string().c_str();
    order.day_only = params.at("day_only").as_bool();
    order.timeout_ms = params.at("timeout_ms").to_number<std::uint32_t>();
    order.urgency = params.at("urgency").to_number<int>();
    benchmark::DoNotOptimize(order);
  }
}
void decode_nlohmann(benchmark::State& state) {
  for (auto _ : state) {
    const nlohmann::json root = nlohmann::json::parse(bench::small_call);
    const nlohmann::json& params = root.at("params");
    bench::OwnedOrder order{};
    params.at("symbol").get_to(order.symbol);
    params.at("account").get_to(order.account);
    params.at("side").get_to(order.side);
    params.at("quantity").get_to(order.quantity);
    params.at("limit").get_to(order.limit);
    params.at("stop").get_to(order.stop);
    params.at("client_tag").get_to(order.client_tag);
    params.at("day_only").get_to(order.day_only);
    params.at("timeout_ms").get_to(order.timeout_ms);
    params.at("urgency").get_to(order.urgency);
    benchmark::DoNotOptimize(order);
  }
}
BENCHMARK(decode_simdjson_dom);
BENCHMARK(decode_godwit<bench::BorrowedOrder>);
BENCHMARK(decode_godwit<bench::OwnedOrder>);
BENCHMARK(decode_boost);
BENCHMARK(decode_nlohmann);

// Value or struct to text.

void write_godwit_struct(benchmark::State& state) {
  auto root = json::parse(bench::small_call);
  const auto order = json::decode<bench::OwnedOrder>((*root)["params"]);
  std::string out;
  for (auto _ : state) {
    out.clear();
    json::Writer writer(out);
    json::write(writer, *order);
    benchmark::DoNotOptimize(out.data());
  }
}
void write_godwit_value(benchmark::State& state) {
  const auto value = json::parse(message(state));
  for (auto _ : state) benchmark::DoNotOptimize(value->dump());
  finish(state);
}
void write_boost(benchmark::State& state) {
  const auto value = boost::json::parse(message(state));
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::serialize(value));
  finish(state);
}
void write_nlohmann(benchmark::State& state) {
  const auto value = nlohmann::json::parse(message(state));
  for (auto _ : state) benchmark::DoNotOptimize(value.dump());
  finish(state);
}
BENCHMARK(write_godwit_struct);
BENCHMARK(write_godwit_value)->Apply(sizes);
BENCHMARK(write_boost)->Apply(sizes);
BENCHMARK(write_nlohmann)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
