// Log: where the library says what it noticed. The program decides where that goes; a Log without a
// sink says nothing. What runs handlers (Server, rpc::Peer) tells stderr of trouble if it is given
// no Log. A Log is a cheap handle that may be copied; the sink may be called from any thread that
// runs a part of the library.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// "debug", "info", "warning", "error".
GODWIT_API std::string_view to_string(LogLevel level) noexcept;

class GODWIT_API Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view line)>;

  /// Says nothing.
  Log() = default;
  /// Hands every line of `least` or above to the sink, cut to 4 KiB. Exceptions of the sink are
  /// dropped.
  explicit Log(Sink sink, LogLevel least = LogLevel::info);

  /// One line per message to stderr: `godwit warning: …`.
  static Log to_stderr(LogLevel least = LogLevel::info);

  bool enabled(LogLevel level) const noexcept { return shared_ && level >= least_; }
  void write(LogLevel level, std::string_view line) const noexcept;
  /// The parts in one line, put together without any memory: also when there is none left.
  void write(LogLevel level, std::initializer_list<std::string_view> parts) const noexcept;
  /// In a catch block: an error, `WHAT: text of the exception`.
  void caught(std::string_view what) const noexcept;
  /// For lines that others can cause as often as they like: writes the first ten of each ten
  /// seconds and counts the rest, over all copies of this Log, so that no peer floods it by
  /// connecting again and again. Errors, which are bugs of the program, are counted apart from the
  /// rest, so that bad input cannot push them out. What is no error is cut to 512 bytes: it quotes
  /// what a peer sent.
  void limited(LogLevel level, std::string_view line,
               TimePoint now = steady_clock().now()) const noexcept;

  void debug(std::string_view line) const noexcept { write(LogLevel::debug, line); }
  void info(std::string_view line) const noexcept { write(LogLevel::info, line); }
  void warning(std::string_view line) const noexcept { write(LogLevel::warning, line); }
  void error(std::string_view line) const noexcept { write(LogLevel::error, line); }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  LogLevel least_ = LogLevel::info;
};

/// Lets the first `burst` lines of each `period` through and counts the rest, so that a hostile
/// peer cannot flood the log. One thread at a time.
class GODWIT_API LogThrottle {
 public:
  explicit LogThrottle(std::uint32_t burst = 10,
                       Duration period = std::chrono::seconds(10)) noexcept
      : burst_(burst), period_(period) {}

  /// Writes the line, or counts it. The first line of a new period reports how many were left out.
  void write(const Log& log, LogLevel level, TimePoint now, std::string_view line);
  /// The same in two steps: whether a line may be written now, and how many were left out in the
  /// period before, if this line begins a new one.
  bool admit(TimePoint now, std::uint32_t& left_out) noexcept;

  std::uint64_t suppressed() const noexcept { return suppressed_; }

 private:
  std::uint32_t burst_;
  Duration period_;
  TimePoint since_{};
  std::uint32_t count_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace godwit::inline v0
