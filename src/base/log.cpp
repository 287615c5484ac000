#include "godwit/base/log.hpp"

#include <cstdio>

namespace godwit::inline v0 {

namespace {
constexpr std::size_t longest_line = 4096;  // a hostile peer must not fill the disk with one line
}

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

Log::Log(Sink sink, LogLevel least)
    : sink_(sink ? std::make_shared<const Sink>(std::move(sink)) : nullptr), least_(least) {}

Log Log::to_stderr(LogLevel least) {
  return Log(
      [](LogLevel level, std::string_view line) {
        // One call per line, so that lines of several threads do not mix.
        std::string text = "godwit ";
        text.append(to_string(level)).append(": ");
        // What a peer sent must not fake lines of its own nor speak to the terminal.
        for (const char c : line) text.push_back(c >= 0 && (c < 0x20 || c == 0x7f) ? ' ' : c);
        text.push_back('\n');
        std::fwrite(text.data(), 1, text.size(), stderr);
      },
      least);
}

void Log::write(LogLevel level, std::string_view line) const noexcept {
  if (!enabled(level)) return;
  try {
    (*sink_)(level, line.substr(0, longest_line));
  } catch (...) {  // a log sink that fails must not take the connection with it
  }
}

void LogThrottle::write(const Log& log, LogLevel level, TimePoint now, std::string_view line) {
  if (now - since_ >= period_) {
    if (count_ > burst_) {
      log.write(level, "(" + std::to_string(count_ - burst_) + " similar lines were left out)");
    }
    since_ = now;
    count_ = 0;
  }
  if (count_ < burst_) {
    log.write(level, line);
  } else {
    ++suppressed_;
  }
  ++count_;
}

}  // namespace godwit::inline v0
