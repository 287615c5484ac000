#include "godwit/base/log.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

namespace godwit::inline v0 {

namespace {

constexpr std::size_t longest_line = 4096;  // a hostile peer must not fill the disk with one line
constexpr std::size_t longest_quote = 512;

/// At most so many bytes, and no half of a character at the end.
std::string_view cut(std::string_view line, std::size_t most) noexcept {
  if (line.size() <= most) return line;
  while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xc0) == 0x80) --most;
  return line.substr(0, most);
}

void write_left_out(const Log& log, LogLevel level, std::uint32_t count) noexcept {
  char line[64];
  const int size = std::snprintf(line, sizeof line, "(%lu similar lines were left out)",
                                 static_cast<unsigned long>(count));
  log.write(level, {line, static_cast<std::size_t>(size)});
}

}  // namespace

/// What all copies of a Log have in common.
struct Log::Shared {
  explicit Shared(Sink given) : sink(std::move(given)) {}

  const Sink sink;
  std::mutex mutex;      // of the rest
  LogThrottle errors;    // bugs of the program
  LogThrottle the_rest;  // what peers do
};

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
    : shared_(sink ? std::make_shared<Shared>(std::move(sink)) : nullptr), least_(least) {}

Log Log::to_stderr(LogLevel least) {
  // One for all: this is the default of many connections.
  static const auto shared = std::make_shared<Shared>([](LogLevel level, std::string_view line) {
    // One call per line, so that lines of several threads do not mix; and no memory, which may be
    // what the line complains about.
    char text[longest_line + 32];
    char* end = text;
    const auto add = [&](std::string_view part) { end = std::ranges::copy(part, end).out; };
    add("godwit ");
    add(to_string(level));
    add(": ");
    // What a peer sent must not fake lines of its own nor speak to the terminal.
    for (const char c : line) *end++ = c >= 0 && (c < 0x20 || c == 0x7f) ? ' ' : c;
    *end++ = '\n';
    std::fwrite(text, 1, static_cast<std::size_t>(end - text), stderr);
  });
  Log log;
  log.shared_ = shared;
  log.least_ = least;
  return log;
}

void Log::write(LogLevel level, std::string_view line) const noexcept {
  if (!enabled(level)) return;
  try {
    shared_->sink(level, cut(line, longest_line));
  } catch (...) {  // a log sink that fails must not take the connection with it
  }
}

void Log::write(LogLevel level, std::initializer_list<std::string_view> parts) const noexcept {
  if (!enabled(level)) return;
  char line[longest_line];
  std::size_t size = 0;
  for (const std::string_view part : parts) {
    size += part.substr(0, sizeof line - size).copy(line + size, sizeof line - size);
  }
  write(level, std::string_view(line, size));
}

void Log::caught(std::string_view what) const noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    write(LogLevel::error, {what, ": ", e.what()});
  } catch (...) {
    write(LogLevel::error, {what, ": something that is not a std::exception"});
  }
}

void Log::limited(LogLevel level, std::string_view line, TimePoint now) const noexcept {
  if (!enabled(level)) return;
  std::uint32_t left_out = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    LogThrottle& throttle = level == LogLevel::error ? shared_->errors : shared_->the_rest;
    if (!throttle.admit(now, left_out)) return;
  }
  // The sink is called without the lock: it is code of the program.
  if (left_out > 0) write_left_out(*this, level, left_out);
  write(level, level == LogLevel::error ? line : cut(line, longest_quote));
}

void LogThrottle::write(const Log& log, LogLevel level, TimePoint now, std::string_view line) {
  std::uint32_t left_out = 0;
  if (!admit(now, left_out)) return;
  if (left_out > 0) write_left_out(log, level, left_out);
  log.write(level, line);
}

bool LogThrottle::admit(TimePoint now, std::uint32_t& left_out) noexcept {
  // Time that goes back is another clock.
  if (now - since_ >= period_ || since_ - now >= period_) {
    if (count_ > burst_) left_out = count_ - burst_;
    since_ = now;
    count_ = 0;
  }
  if (count_ < std::numeric_limits<std::uint32_t>::max()) ++count_;
  if (count_ <= burst_) return true;
  ++suppressed_;
  return false;
}

}  // namespace godwit::inline v0
