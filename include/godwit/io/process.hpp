// Process: a child program with pipes to its stdin and stdout, and its stderr kept short.
//
// Owner: whoever talks to it. Destroying a running Process kills it and its process group and waits
// for it, so that neither an orphan nor a zombie is left; stop() is the polite way. Threads: the
// one that drives the loop. Spawn on a thread that lives as long as the child may: the child is
// killed when the thread that spawned it ends, which also covers a parent killed with -9.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"

namespace godwit::inline v0 {

struct ProcessOptions {
  /// The program and its arguments, handed over exactly; no shell ever sees them. A program without
  /// a slash is looked for in the PATH that the child gets.
  std::vector<std::string> argv{};
  /// Set for the child, besides the few harmless variables every child gets (Process::inherited).
  std::vector<std::pair<std::string, std::string>> environment{};
  /// Names of further variables to hand on from this process, if set.
  std::vector<std::string> inherit{};
  /// Where the child starts; empty means here.
  std::string directory{};

  /// stop(): how long after its stdin was closed the child may live before SIGTERM, and how long
  /// after that before SIGKILL. Both go to the whole process group.
  Duration close_grace = std::chrono::seconds(2);
  Duration term_grace = std::chrono::seconds(3);

  /// The last bytes of stderr that are kept.
  std::size_t stderr_tail = Limits{}.child_stderr_tail;
  /// Every line of stderr as it comes, without its end; lines over 4 KiB come in pieces.
  Function<void(std::string_view line)> on_stderr{};
};

/// How a process ended.
struct GODWIT_API ExitStatus {
  /// The signal that killed it, or 0.
  int signal = 0;
  /// What it returned, if no signal did; -1 if another part of the program took the status away.
  int code = 0;

  bool success() const noexcept { return signal == 0 && code == 0; }
  /// "exited with 3", "killed by signal 11 (SIGSEGV)".
  std::string text() const;
  bool operator==(const ExitStatus&) const = default;
};

class GODWIT_API Process {
 public:
  /// Fails, naming the program and the reason, if it cannot be started.
  static Result<Process> spawn(Loop& loop, ProcessOptions options);

  /// Names that every child gets if they are set here: PATH, HOME, LANG, LC_*, TMPDIR, USER,
  /// LOGNAME, SHELL, TERM, TZ and the XDG directories. Nothing that could hold a secret or load
  /// code.
  static bool inherited(std::string_view name) noexcept;

  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;

  int pid() const noexcept;

  /// The pipes. Each can be taken once; what is not taken is closed with the Process.
  Stream take_input();
  Stream take_output();

  /// Called once when the child has ended and was reaped, and its last stderr was read; what it
  /// wrote to stdout may still be in the pipe (Stream::drain). The rest of its process group is
  /// gone too.
  void on_exit(Function<void(ExitStatus)> done);
  /// Nothing while it runs.
  const std::optional<ExitStatus>& status() const noexcept;

  /// The last of what it wrote to stderr.
  std::string stderr_tail() const;

  /// Begins the stop: the taken input Stream should be destroyed first, an untaken one is closed
  /// here; then wait, SIGTERM, wait, SIGKILL. on_exit() tells the end.
  void stop();

 private:
  struct State;
  explicit Process(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
