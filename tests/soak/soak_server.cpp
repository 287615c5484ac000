// The server that soak.py loads and hurts. What its handlers really did is written to stdout, a
// line each, so that it can be compared with what clients were told.
//
//   soak_server --http 127.0.0.1:PORT
#include <unistd.h>

#include <chrono>
#include <godwit/godwit.hpp>
#include <string>
#include <thread>

namespace {

struct Echo {
  std::string message{};
};
struct Steps {
  std::string tag{};
  int count{};
  int milliseconds{};
  int bytes = 0;
  static constexpr godwit::Field fields[] = {
      {.name = "bytes", .about = "Of the sentence that comes with a step", .has_default = true}};
};
struct Mark {
  std::string tag{};
  int milliseconds = 0;
  static constexpr godwit::Field fields[] = {{.name = "milliseconds", .has_default = true}};
};

/// One write of a short line: never mixed with others, and not lost when the process ends.
void record(const std::string& what, const std::string& tag) {
  const std::string line = what + " " + tag + "\n";
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, line.data(), line.size());
}

void pause(int milliseconds) {
  if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::string steps(const Steps& in, godwit::Context& cx) {
  record("begin", in.tag);
  const std::string sentence(static_cast<std::size_t>(in.bytes), 'x');
  for (int step = 1; step <= in.count; ++step) {
    if (cx.cancelled().stop_requested()) {
      record("stop", in.tag);
      return "stopped";
    }
    cx.progress(step, in.count, sentence);
    pause(in.milliseconds);
  }
  record("end", in.tag);
  return in.tag;
}

}  // namespace

int main(int argc, char** argv) {
  godwit::ThreadPool pool(32);
  godwit::Server server{{.name = "soak",
                         .version = "1.0.0",
                         .executor = &pool,
                         .log = godwit::Log::to_stderr(godwit::LogLevel::error)}};
  server.tool("echo", "Gives the message back", [](Echo in) { return in.message; });
  server.tool("steps", "Reports progress until it is done or nobody waits any more",
              godwit::blocking([](Steps in, godwit::Context& cx) { return steps(in, cx); }));
  server.tool("mark", "Leaves a trace, at once", [](Mark in) {
    record("mark", in.tag);
    return in.tag;
  });
  server.tool("slow_mark", "Leaves a trace after a while", godwit::blocking([](Mark in) {
                pause(in.milliseconds);
                record("mark", in.tag);
                return in.tag;
              }));
  return godwit::serve(server, argc, argv);
}
