// Our client, for soak.py: makes many calls at once whose progress it counts, and prints a line as
// soon as one has ended. It connects first and calls once a line comes by stdin, so that the way to
// the server can be spoilt between the two.
//
//   soak_client stateful|stateless URL CALLS STEPS MILLISECONDS
#include <chrono>
#include <cstdlib>
#include <godwit/godwit.hpp>
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Steps {
  std::string tag{};
  int count{};
  int milliseconds{};
};

/// One call. Only the client's thread changes it.
struct Call {
  Steps arguments;
  int seen = 0;
  bool in_order = true;
};

void print(const Call& call, const godwit::Result<godwit::ToolResult>& result) {
  std::cout << (result ? "ok " : "failed ") << call.arguments.tag << " " << call.seen << " "
            << (call.in_order ? "ordered" : "disordered") << " "
            << (result ? "" : result.error().message) << std::endl;
}

void start(godwit::Client& client, const std::shared_ptr<Call>& call, std::latch& all) {
  client.call_async("steps", call->arguments,
                    [call, &all](godwit::Result<godwit::ToolResult> result) {
                      print(*call, result);
                      all.count_down();
                    },
                    {.on_progress = [call](const godwit::Progress& progress) {
                      call->in_order = call->in_order && progress.progress == ++call->seen;
                    }});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const bool stateless = std::string_view(argv[1]) == "stateless";
  auto client = godwit::Client::connect(
      argv[2],
      {.lifecycle = stateless ? godwit::Lifecycle::stateless : godwit::Lifecycle::stateful});
  if (!client) {
    std::cout << "not connected: " << client.error().message << std::endl;
    return 1;
  }
  std::cout << "connected" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  const int calls = std::atoi(argv[3]);
  std::latch all(calls);
  for (int i = 0; i < calls; ++i) {
    start(*client,
          std::make_shared<Call>(Call{.arguments = {.tag = std::string(argv[1]) + std::to_string(i),
                                                    .count = std::atoi(argv[4]),
                                                    .milliseconds = std::atoi(argv[5])}}),
          all);
  }
  all.wait();
  return 0;
}
