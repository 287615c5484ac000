#include "godwit/base/log.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <mutex>
#include <span>
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

/// The parts behind one another, as far as there is room.
std::string_view join(std::initializer_list<std::string_view> parts,
                      std::span<char> room) noexcept {
  std::size_t size = 0;
  for (const std::string_view part : parts) {
    size += part.substr(0, room.size() - size).copy(room.data() + size, room.size() - size);
  }
  return {room.data(), size};
}

/// Lets the first lines of each period through and counts the rest.
class Throttle {
 public:
  /// Whether a line may be written now, and how many were left out in the period before, if this
  /// line begins a new one.
  bool admit(TimePoint now, std::uint32_t& left_out) noexcept {
    // Time that goes back is another clock.
    if (now - since_ >= period || since_ - now >= period) {
      if (count_ > burst) left_out = count_ - burst;
      since_ = now;
      count_ = 0;
    }
    if (count_ < std::numeric_limits<std::uint32_t>::max()) ++count_;
    return count_ <= burst;
  }

 private:
  static constexpr std::uint32_t burst = 10;
  static constexpr Duration period = std::chrono::seconds(10);
  TimePoint since_{};
  std::uint32_t count_ = 0;
};

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
  std::mutex mutex;   // of the rest
  Throttle errors;    // bugs of the program
  Throttle the_rest;  // what peers do
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
  const std::shared_ptr<Shared> shared = shared_;  // the sink may destroy this, and with it itself
  try {
    shared->sink(level, cut(line, longest_line));
  } catch (...) {  // a log sink that fails must not take the connection with it
  }
}

void Log::write(LogLevel level, std::initializer_list<std::string_view> parts) const noexcept {
  if (!enabled(level)) return;
  char line[longest_line];
  write(level, join(parts, line));
}

void Log::caught(std::string_view what) const noexcept {
  if (!enabled(LogLevel::error)) return;
  char line[longest_line];
  try {
    throw;
  } catch (const std::exception& e) {
    limited(LogLevel::error, join({what, ": ", e.what()}, line));
  } catch (...) {
    limited(LogLevel::error, join({what, ": something that is not a std::exception"}, line));
  }
}

void Log::limited(LogLevel level, std::string_view line, TimePoint now) const noexcept {
  if (!enabled(level)) return;
  std::uint32_t left_out = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    Throttle& throttle = level == LogLevel::error ? shared_->errors : shared_->the_rest;
    if (!throttle.admit(now, left_out)) return;
  }
  // The sink is called without the lock: it is code of the program, and may destroy this.
  const Log log = *this;
  if (left_out > 0) write_left_out(log, level, left_out);
  log.write(level, level == LogLevel::error ? line : cut(line, longest_quote));
}

}  // namespace godwit::inline v0
