#include "io/system.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace godwit::inline v0 {

void Descriptor::reset() noexcept {
  if (fd_ < 0) return;
  const int saved = errno;
  ::close(std::exchange(fd_, -1));
  errno = saved;
}

namespace detail::io {

std::string text_of(int code) { return std::generic_category().message(code); }

Error system_error(std::string what, int code) {
  return error(std::move(what) + ": " + text_of(code));
}

namespace {

/// Blocks SIGPIPE for this thread around one write, and swallows the one that the write caused.
ssize_t write_blocking_sigpipe(int fd, const void* data, std::size_t size) noexcept {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(fd, data, size);
  const int code = errno;
  if (written < 0 && code == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const timespec now{};
    while (sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return written;
}

}  // namespace

ssize_t write_quietly(int fd, const void* data, std::size_t size) noexcept {
  // RWF_NOSIGNAL of Linux 6.18 saves two system calls per write. Older kernels and headers lack it.
  constexpr int rwf_nosignal = 0x100;
  static std::atomic<bool> offered{true};
  if (offered.load(std::memory_order_relaxed)) {
    const iovec part{const_cast<void*>(data), size};
    const ssize_t written = ::pwritev2(fd, &part, 1, -1, rwf_nosignal);
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return written;
    offered.store(false, std::memory_order_relaxed);
  }
  return write_blocking_sigpipe(fd, data, size);
}

bool pollable(int fd) noexcept {
  const Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Descriptor duplicate(int fd) noexcept { return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

void set_tcp_options(int fd) noexcept {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(TCP_NOTSENT_LOWAT)
  const int unsent = 128 << 10;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
#endif
}

}  // namespace detail::io

}  // namespace godwit::inline v0
