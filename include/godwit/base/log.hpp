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
  /// In a catch block: an error, `WHAT: text of the exception`, put together without any memory and
  /// limited, as the next one is.
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

}  // namespace godwit::inline v0
