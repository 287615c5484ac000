// The server that soak.py loads and hurts. What its handlers really did is written to stdout, a
// line each, so that it can be compared with what clients were told.
//
//   soak_server --http 127.0.0.1:PORT [--limit NAME=NUMBER]…
//
// A limit is one of those below, in bytes, seconds or pieces: a bound that is reached by ten
// connections shows in seconds what that of every day shows in minutes.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <godwit/godwit.hpp>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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

/// False if there is no such limit.
bool set_limit(godwit::Limits& limits, std::string_view name, std::uint64_t number) {
  const std::map<std::string_view, std::size_t*> sizes{
      {"connections", &limits.connections},
      {"sessions", &limits.sessions},
      {"sessions_per_address", &limits.sessions_per_address},
      {"session_bytes", &limits.session_bytes},
      {"process_session_bytes", &limits.process_session_bytes},
      {"process_body_bytes", &limits.process_body_bytes},
      {"session_resumptions", &limits.session_resumptions}};
  const std::map<std::string_view, godwit::Duration*> times{
      {"first_message_time", &limits.first_message_time},
      {"write_stall", &limits.write_stall},
      {"session_first_message_time", &limits.session_first_message_time}};
  if (const auto size = sizes.find(name); size != sizes.end()) {
    *size->second = number;
  } else if (const auto time = times.find(name); time != times.end()) {
    *time->second = std::chrono::seconds(number);
  } else {
    return false;
  }
  return true;
}

/// Takes "--limit NAME=NUMBER" out of the arguments. False if one of them makes no sense.
bool take_limits(std::vector<char*>& arguments, godwit::Limits& limits) {
  for (std::size_t i = 1; i + 1 < arguments.size();) {
    if (std::string_view(arguments[i]) != "--limit") {
      ++i;
      continue;
    }
    const std::string_view limit = arguments[i + 1];
    const std::size_t mark = limit.find('=');
    std::uint64_t number = 0;
    if (mark == limit.npos ||
        std::from_chars(limit.data() + mark + 1, limit.data() + limit.size(), number).ec !=
            std::errc() ||
        !set_limit(limits, limit.substr(0, mark), number)) {
      std::cerr << "soak_server: there is no limit " << limit << std::endl;
      return false;
    }
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  godwit::Limits limits;
  std::vector<char*> arguments(argv, argv + argc);
  if (!take_limits(arguments, limits)) return 2;
  godwit::ThreadPool pool(32);
  godwit::Server server{{.name = "soak",
                         .version = "1.0.0",
                         .executor = &pool,
                         .limits = limits,
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
  server.resource_template("soak:{+name}", "named", [](std::map<std::string, std::string> values) {
    return values["name"];
  });
  return godwit::serve(server, static_cast<int>(arguments.size()), arguments.data());
}
