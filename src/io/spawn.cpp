#include "io/spawn.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/system.hpp"

namespace godwit::inline v0::detail::io {

namespace {

struct Pipe {
  Descriptor read, write;
};

/// Both ends close-on-exec and above 2, so that dup2 onto 0, 1 and 2 never meets one of them.
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("no pipe for a child process", errno);
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->get() > 2) continue;
    Descriptor high = duplicate(end->get());
    if (!high) return system_error("no pipe for a child process", errno);
    *end = std::move(high);
  }
  return pipe;
}

/// What the child tells before it gives up.
struct Failure {
  enum class Step : int { directory, exec, setup } step = Step::setup;
  int code = 0;
};

/// Everything the child needs, made before the fork: between vfork and exec memory is the parent's.
struct Plan {
  std::vector<char*> argv, environment;
  std::vector<std::string> programs;  // full paths, to be tried in this order
  const char* directory = nullptr;
  int input = -1, output = -1, error = -1, report = -1;
  pid_t parent = -1;
};

// Runs in the child on the parent's memory; only async-signal-safe calls, nothing changed that the
// parent reads.
[[noreturn]] void become(const Plan& plan) noexcept {
  Failure failure;
  const auto give_up = [&](Failure::Step step, int code) {
    failure = {step, code};
    [[maybe_unused]] const auto put = ::write(plan.report, &failure, sizeof failure);
    ::_exit(127);
  };

  // Handlers of the parent must not run here, and what it ignores the program would ignore too.
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &normal, nullptr);

  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // the parent died before the line above

  if (::dup2(plan.input, 0) < 0 || ::dup2(plan.output, 1) < 0 || ::dup2(plan.error, 2) < 0)
    give_up(Failure::Step::setup, errno);
  // Descriptors that other code opened without close-on-exec are not for the child either.
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    const long most = ::sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < most && fd < 65536; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0)
    give_up(Failure::Step::directory, errno);

  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  int code = ENOENT;
  for (const std::string& program : plan.programs) {
    ::execve(program.c_str(), plan.argv.data(), plan.environment.data());
    // As execvp does: look on, but remember a file that was there and could not be run.
    if (errno != ENOENT && errno != ENOTDIR) {
      code = errno;
      if (code != EACCES) break;
    }
  }
  give_up(Failure::Step::exec, code);
  ::_exit(127);
}

// A function of its own, not inlined: the parent's frame must not be changed by the child.
[[gnu::noinline]] pid_t fork_and_become(const Plan& plan) noexcept {
  // vfork: a parent with gigabytes of memory does not copy its page tables to start a child.
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  return pid;
}

std::vector<std::string> candidates(const std::string& program, const std::string& path) {
  if (program.find('/') != program.npos) return {program};
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t to = std::min(path.find(':', from), path.size());
    const std::string folder = path.substr(from, to - from);
    // An empty entry means the current directory to some shells; here it means nothing.
    if (!folder.empty()) out.push_back(folder + "/" + program);
    from = to + 1;
  }
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& one : strings) out.push_back(const_cast<char*>(one.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<void> check(const SpawnRequest& request) {
  if (request.argv.empty() || request.argv.front().empty())
    return error("no program was given to start");
  const auto has_zero = [](const std::string& text) { return text.find('\0') != text.npos; };
  for (const std::string& one : request.argv)
    if (has_zero(one)) return error("an argument of a program cannot hold a zero byte");
  for (const std::string& one : request.environment)
    if (has_zero(one)) return error("an environment variable cannot hold a zero byte");
  if (has_zero(request.directory)) return error("a directory name cannot hold a zero byte");
  return {};
}

}  // namespace

Result<Spawned> spawn(const SpawnRequest& request) {
  if (auto good = check(request); !good) return good.error();
  auto input = make_pipe();
  if (!input) return input.error();
  auto output = make_pipe();
  if (!output) return output.error();
  auto errors = make_pipe();
  if (!errors) return errors.error();
  auto report = make_pipe();
  if (!report) return report.error();

  Plan plan;
  plan.argv = pointers(request.argv);
  plan.environment = pointers(request.environment);
  plan.programs = candidates(request.argv.front(), request.path);
  if (!request.directory.empty()) plan.directory = request.directory.c_str();
  plan.input = input->read.get();
  plan.output = output->write.get();
  plan.error = errors->write.get();
  plan.report = report->write.get();
  plan.parent = ::getpid();

  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork_and_become(plan);
  const int fork_code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return system_error("program \"" + request.argv.front() + "\" was not started", fork_code);

  // The child's ends; the report ends when exec closes the last copy.
  input->read.reset();
  output->write.reset();
  errors->write.reset();
  report->write.reset();
  Failure failure;
  ssize_t got = 0;
  do {
    got = ::read(report->read.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);

  const auto reap = [pid] {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  };
  if (got == static_cast<ssize_t>(sizeof failure)) {
    reap();
    const std::string what =
        failure.step == Failure::Step::directory
            ? "directory \"" + request.directory + "\" for program \"" + request.argv.front() + "\""
            : "program \"" + request.argv.front() + "\" cannot be started";
    return system_error(what, failure.code);
  }

  Spawned spawned;
  spawned.pid = pid;
  spawned.pidfd = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!spawned.pidfd) {
    const int code = errno;
    ::kill(-pid, SIGKILL);
    reap();
    return system_error("a child process cannot be watched (pidfd_open)", code);
  }
  spawned.input = std::move(input->write);
  spawned.output = std::move(output->read);
  spawned.error = std::move(errors->read);
  return spawned;
}

}  // namespace godwit::inline v0::detail::io
