// Tools that answer by themselves: every kind of argument, result and handler.
#include "tools.hpp"

#include <chrono>
#include <godwit/godwit.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace everything {

namespace {

struct Echo {
  std::string message{};
  static constexpr godwit::Field fields[] = {{"message", "What to give back"}};
};
struct Sum {
  std::vector<double> numbers{};
};
struct Statistics {
  double sum{};
  double mean{};
  int count{};
};
enum class Size { small, medium, large };
struct Order {
  std::string item{};
  Size size = Size::medium;
  int count = 1;
  std::optional<std::string> note{};

  static constexpr godwit::Field fields[] = {
      {.name = "item", .about = "What to order", .min_length = 1, .max_length = 40},
      {.name = "size", .has_default = true},
      {.name = "count", .minimum = 1, .maximum = 12, .has_default = true}};
  static constexpr godwit::Unknown unknown_members = godwit::Unknown::reject;
};
struct Receipt {
  std::string order{};
  Size size{};
  double price{};
};
struct Work {
  int steps = 3;
  int milliseconds = 20;
  static constexpr godwit::Field fields[] = {
      {.name = "steps", .minimum = 1, .maximum = 100, .has_default = true},
      {.name = "milliseconds",
       .about = "Per step",
       .minimum = 0,
       .maximum = 1000,
       .has_default = true}};
};
struct Line {
  godwit::LoggingLevel level = godwit::LoggingLevel::info;
  std::string text{};
};

void work(Work in, godwit::Context& cx) {
  for (int step = 1; step <= in.steps && !cx.cancelled().stop_requested(); ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(in.milliseconds));
    cx.progress(step, in.steps, "step " + std::to_string(step));
  }
}

}  // namespace

std::string_view dot_png() {
  using namespace std::string_view_literals;
  return "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
         "\0\0\0\rIDATx\x9c"
         "c\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xae"
         "B`\x82"sv;
}

std::string_view silence_wav() {
  static const std::string wav = [] {
    using namespace std::string_literals;
    return "RIFF\x74\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x50\0\0\0"s +
           std::string(80, '\x80');
  }();
  return wav;
}

void add_tools(godwit::Server& server) {
  server.tool("echo", "Gives the message back", [](Echo in) { return in.message; },
              {.title = "Echo", .annotations = {.readOnlyHint = true, .idempotentHint = true}});

  server.tool("statistics", "Sum and mean of numbers", [](Sum in) {
    const double sum = std::accumulate(in.numbers.begin(), in.numbers.end(), 0.0);
    const auto count = static_cast<int>(in.numbers.size());
    return Statistics{.sum = sum, .mean = count > 0 ? sum / count : 0, .count = count};
  });

  server.tool("order", "Orders something: bounds, defaults, an enum, nothing unknown",
              [](Order in) -> godwit::Result<Receipt> {
                if (in.item == "nothing") return godwit::tool_error("there is no nothing to sell");
                return Receipt{.order = std::to_string(in.count) + " " + in.item,
                               .size = in.size,
                               .price = 2.5 * in.count};
              });

  server.tool("now", "Takes nothing", [] { return "some time in the afternoon"; });

  server.tool("contents", "Every kind of content", [](godwit::Context&) {
    return std::vector<godwit::Content>{
        godwit::text("a text"), godwit::image(dot_png(), "image/png"),
        godwit::audio(silence_wav(), "audio/wav"), godwit::link("everything://readme", "readme"),
        godwit::embed(godwit::TextResourceContents{
            .uri = "everything://readme", .mimeType = "text/plain", .text = "read me"})};
  });

  server.tool(
      "schema", "Arguments by a schema of its own",
      [](godwit::json::View in) { return godwit::RawJson{std::string(in.source())}; },
      {.input_schema = {R"({"type":"object","properties":{"kind":{"const":"a"}},)"
                        R"("required":["kind"],"additionalProperties":{"type":"integer"}})"},
       .output_schema = {R"({"type":"object"})"}});

  server.tool("fail", "Fails, and says so to the model",
              []() -> godwit::Result<std::string> { return godwit::tool_error("as it should"); });

  server.tool("break", "Throws: a bug of the program",
              []() -> std::string { throw std::runtime_error("never shown to a client"); });

  server.tool("work", "Takes its time on a thread of the pool, reports progress, can be cancelled",
              godwit::blocking([](Work in, godwit::Context& cx) {
                work(in, cx);
                return "done after " + std::to_string(in.steps) + " steps";
              }),
              {.timeout = std::chrono::seconds(30), .concurrency = 8});

  server.tool("later", "Answers from another thread",
              [](Echo in, godwit::Reply<std::string> reply) {
                std::thread([in = std::move(in), reply = std::move(reply)]() mutable {
                  reply("later: " + in.message);
                }).detach();
              });

  server.tool("log", "Writes a line to the client's log", [](Line in, godwit::Context& cx) {
    cx.log(in.level, in.text, "everything");
    return "logged";
  });

  server.tool("who", "What the server knows of its caller", [](godwit::Context& cx) {
    return cx.client().name + " speaks " + std::string(cx.revision());
  });

  server.tool("grow", "Offers one more tool, of which clients are told", [&server] {
    server.tool("grown", "Was not there before", [] { return "new"; });
    return "there is a new tool";
  });
}

}  // namespace everything
