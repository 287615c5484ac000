#include "godwit/io/process.hpp"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdlib>

#include "godwit/base/rollback.hpp"
#include "godwit/io/timer.hpp"
#include "io/asio_descriptor.hpp"
#include "io/loop_core.hpp"
#include "io/op_memory.hpp"
#include "io/spawn.hpp"
#include "io/stderr_tail.hpp"
#include "io/system.hpp"

extern char** environ;

namespace godwit::inline v0 {

namespace {

/// What can be in a pipe at most without special rights (fs.pipe-max-size); read after the death.
constexpr std::size_t pipe_bytes = 1u << 20;

/// Waits for the child without blocking; nothing while it lives.
std::optional<ExitStatus> reap(pid_t pid, int flags) noexcept {
  int raw = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid, &raw, flags);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  if (got < 0) return ExitStatus{.code = -1};  // SIGCHLD is ignored here, or another part waited
  if (WIFSIGNALED(raw)) return ExitStatus{.signal = WTERMSIG(raw)};
  return ExitStatus{.code = WEXITSTATUS(raw)};
}

/// The child and its process group.
std::optional<ExitStatus> kill_and_reap(pid_t pid) noexcept {
  ::kill(-pid, SIGKILL);
  return reap(pid, 0);
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0)
    return code >= 0 ? "exited with " + std::to_string(code) : "ended with unknown status";
  const char* name = ::sigabbrev_np(signal);
  std::string text = "killed by signal " + std::to_string(signal);
  if (name != nullptr) text += std::string(" (SIG") + name + ")";
  return text;
}

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Process::State : std::enable_shared_from_this<State> {
  State(Loop& loop, ProcessOptions given)
      : core(detail::io::core(loop)),
        options(std::move(given)),
        pidfd(core.context.get_executor()),
        timer(loop),
        errors(std::make_shared<detail::io::StderrTail>(options.stderr_tail,
                                                        std::move(options.on_stderr))) {}

  detail::io::LoopCore& core;
  ProcessOptions options;
  pid_t pid = -1;
  detail::io::AsioDescriptor pidfd;
  Timer timer;
  std::shared_ptr<detail::io::StderrTail> errors;
  std::optional<Stream> input, output, error;
  std::optional<ExitStatus> status;
  Function<void(ExitStatus)> done;
  bool told = false;
  bool closed = false;
  bool stopping = false;
  detail::io::OpMemory memory;

  void watch() {
    pidfd.async_wait(
        detail::io::AsioDescriptor::wait_read,
        detail::io::InMemory(memory, [self = shared_from_this()](boost::system::error_code failed) {
          if (!failed && !self->closed) self->on_death();
        }));
    core.touch();
  }

  void on_death() {
    // Whatever the child left in its group goes first: as long as the child is not reaped, its
    // number cannot be given to somebody else's group.
    ::kill(-pid, SIGKILL);
    status = reap(pid, WNOHANG);
    if (!status) return watch();
    timer.cancel();
    boost::system::error_code ignored;
    pidfd.close(ignored);
    input.reset();
    // A process that left the group may hold the pipe: what is there is read, no end is awaited.
    errors->on_finished = [this] { tell(); };
    if (errors->finished()) return tell();
    error->drain(pipe_bytes);
  }

  void tell() {
    const auto self = shared_from_this();  // the call may destroy the Process
    if (closed || told || !done || !status || !errors->finished()) return;
    told = true;
    Function<void(ExitStatus)> call = std::exchange(done, nullptr);
    call(*status);
  }

  void stop() {
    if (stopping || status) return;
    stopping = true;
    input.reset();
    timer.start(options.close_grace, [this] {
      ::kill(-pid, SIGTERM);
      timer.start(options.term_grace, [this] { ::kill(-pid, SIGKILL); });
    });
  }

  void close() noexcept {
    closed = true;
    done = nullptr;
    errors->close();
    timer.cancel();
    boost::system::error_code ignored;
    pidfd.close(ignored);
    input.reset();
    output.reset();
    error.reset();
    if (pid > 0 && !status) status = kill_and_reap(pid);
  }
};

Process::Process(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Process::~Process() {
  if (state_) state_->close();
}
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

bool Process::inherited(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 16> names{
      "PATH",   "HOME",    "LANG",           "LANGUAGE",
      "TMPDIR", "USER",    "SHELL",          "TERM",
      "TZ",     "LOGNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
      "TEMP",   "TMP",     "XDG_DATA_HOME",  "XDG_RUNTIME_DIR"};
  return name.starts_with("LC_") || std::find(names.begin(), names.end(), name) != names.end();
}

Result<Process> Process::spawn(Loop& loop, ProcessOptions options) {
  detail::io::SpawnRequest request;
  const auto set = [&](std::string_view name, std::string_view value) {
    std::string entry = std::string(name) + "=";
    std::erase_if(request.environment,
                  [&](const std::string& other) { return other.starts_with(entry); });
    if (name == "PATH") request.path = value;
    request.environment.push_back(entry.append(value));
  };
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const auto& more = options.inherit;
    if (inherited(name) || std::find(more.begin(), more.end(), name) != more.end())
      set(name, entry.substr(equals + 1));
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || name.find('=') != name.npos)
      return godwit::error("environment variable \"" + name +
                           "\": a name cannot be empty or hold '='");
    set(name, value);
  }
  if (request.path.empty()) request.path = "/usr/local/bin:/usr/bin:/bin";
  request.argv = options.argv;
  request.directory = options.directory;

  auto spawned = detail::io::spawn(request);
  if (!spawned) return spawned.error();
  Rollback unwatched([&] { kill_and_reap(spawned->pid); });
  Process process(std::make_shared<State>(loop, std::move(options)));
  State& state = *process.state_;
  state.pid = spawned->pid;  // from here on the destructor takes care of the child
  unwatched.dismiss();

  const auto adopt = [&](Descriptor& fd, std::optional<Stream>& stream) -> Result<void> {
    auto opened = Stream::open(loop, std::move(fd));
    if (!opened) return opened.error();
    stream.emplace(std::move(*opened));
    return {};
  };
  if (auto good = adopt(spawned->input, state.input); !good) return good.error();
  if (auto good = adopt(spawned->output, state.output); !good) return good.error();
  if (auto good = adopt(spawned->error, state.error); !good) return good.error();
  boost::system::error_code failed;
  state.pidfd.assign(spawned->pidfd.get(), failed);
  if (failed) return detail::io::system_error("a child process cannot be watched", failed.value());
  spawned->pidfd.release();

  state.error->set_handler(*state.errors);
  state.error->resume();
  state.watch();
  return process;
}

int Process::pid() const noexcept { return state_->pid; }

Stream Process::take_input() {
  Stream taken = std::move(state_->input.value());
  state_->input.reset();
  return taken;
}
Stream Process::take_output() {
  Stream taken = std::move(state_->output.value());
  state_->output.reset();
  return taken;
}

void Process::on_exit(Function<void(ExitStatus)> done) {
  State& state = *state_;
  state.done = std::move(done);
  if (!state.status || state.told || !state.errors->finished()) return;
  boost::asio::post(state.core.context, [self = state_] { self->tell(); });
  state.core.touch();
}

const std::optional<ExitStatus>& Process::status() const noexcept { return state_->status; }

std::string Process::stderr_tail() const { return std::string(state_->errors->text()); }

void Process::stop() { state_->stop(); }

}  // namespace godwit::inline v0
