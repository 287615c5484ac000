#include "godwit/io/stream.hpp"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "io/asio_descriptor.hpp"
#include "io/loop_core.hpp"
#include "io/op_memory.hpp"
#include "io/socket_address.hpp"
#include "io/stream_state.hpp"
#include "io/system.hpp"

namespace godwit::inline v0 {

namespace {

enum class Access : std::uint8_t {
  direct,  // Asio has the descriptor itself, non-blocking
  shared,  // not to be made non-blocking: Asio watches an epoll descriptor that watches it
  plain,   // epoll refuses it because it never makes anybody wait: read and write at once
};

using Handler = Stream::Handler;

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Plain final : detail::io::StreamState, std::enable_shared_from_this<Plain> {
  Plain(detail::io::LoopCore& loop, Descriptor owned, Access how, bool is_socket)
      : core(loop),
        fd(std::move(owned)),
        asio(loop.context.get_executor()),
        access(how),
        socket(is_socket) {}

  detail::io::LoopCore& core;
  Descriptor fd;  // released to Asio when direct
  detail::io::AsioDescriptor asio;
  Handler* handler = nullptr;
  std::shared_ptr<void> companion;
  std::span<char> space;
  Access access;
  bool socket;
  bool reading = false;         // the owner wants data
  bool armed = false;           // a read is under way
  bool resting = false;         // direct: it waits without space, or will
  bool delivering = false;      // inside on_data
  bool ended = false;           // on_end was or is being told
  bool closed = false;          // the Stream is gone
  bool awaiting_space = false;  // on_writable is owed
  bool watching = false;        // shared: a wait on the inner epoll is under way
  std::size_t got_last = 0;
  std::size_t left = 0;  // draining: how much more may be read
  // What is waited for again and again: going on needs no memory.
  detail::io::OpMemory read_memory;
  detail::io::OpMemory write_memory;

  int raw() noexcept { return access == Access::direct ? asio.native_handle() : fd.get(); }

  Result<void> init() {
    boost::system::error_code error;
    if (access == Access::direct) {
      asio.assign(fd.get(), error);
      if (error) return detail::io::system_error("the descriptor cannot be watched", error.value());
      fd.release();
      asio.non_blocking(true, error);
      if (error) return detail::io::system_error("the descriptor cannot be watched", error.value());
    } else if (access == Access::shared) {
      Descriptor inner(::epoll_create1(EPOLL_CLOEXEC));
      epoll_event event{};
      if (!inner || ::epoll_ctl(inner.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0)
        return detail::io::system_error("the descriptor cannot be watched", errno);
      asio.assign(inner.get(), error);
      if (error) return detail::io::system_error("the descriptor cannot be watched", error.value());
      inner.release();
    }
    return {};
  }

  void close() noexcept override {
    if (std::exchange(closed, true)) return;
    handler = nullptr;
    boost::system::error_code ignored;
    asio.close(ignored);
    fd.reset();
    companion.reset();
  }

  void set_handler(Handler& who) noexcept override { handler = &who; }
  void shutdown_write() noexcept override {
    if (socket) ::shutdown(raw(), SHUT_WR);
  }
  std::string peer() override { return socket ? detail::io::peer_name(raw()) : std::string(); }
  std::string local() override { return socket ? detail::io::local_name(raw()) : std::string(); }
  std::optional<PeerProcess> process() const noexcept override {
    return socket ? detail::io::peer_process(const_cast<Plain*>(this)->raw()) : std::nullopt;
  }
  void attach(std::shared_ptr<void> what) noexcept override { companion = std::move(what); }

  // --- reading

  void resume() override {
    reading = true;
    arm();
  }
  void pause() noexcept override { reading = false; }

  bool rest() noexcept override {
    if (access != Access::direct || !armed || space.empty()) return true;
    // The read may have got something already, and then it is delivered.
    resting = true;
    boost::system::error_code ignored;
    asio.cancel(ignored);
    core.touch();
    return false;
  }

  /// Costs more system calls than a read that finds something at once.
  void wait() {
    asio.async_wait(detail::io::AsioDescriptor::wait_read,
                    detail::io::InMemory(
                        read_memory, [self = shared_from_this()](boost::system::error_code error) {
                          self->armed = false;
                          if (self->closed || self->ended) return;
                          if (self->left > 0) return self->drain_now();
                          if (!error && self->reading && !self->read_once()) self->arm();
                        }));
    armed = true;
  }

  void arm() {
    if (armed || delivering || ended || closed || !reading || left > 0) return;
    switch (access) {
      case Access::direct:
        space = handler->on_space();
        if (closed || !reading) return;
        armed = true;
        // Asio tries the read at once and waits only if nothing is there.
        asio.async_read_some(boost::asio::buffer(space.data(), space.size()),
                             detail::io::InMemory(read_memory, [self = shared_from_this()](
                                                                   boost::system::error_code error,
                                                                   std::size_t size) {
                               self->on_read(error, size);
                             }));
        break;
      case Access::shared:
        armed = true;
        watch();
        break;
      case Access::plain:
        armed = true;
        boost::asio::post(core.context,
                          detail::io::InMemory(read_memory, [self = shared_from_this()] {
                            self->armed = false;
                            if (!self->closed && !self->ended && self->reading && self->left == 0)
                              self->read_once();
                          }));
        break;
    }
    core.touch();
  }

  void on_read(boost::system::error_code error, std::size_t size) {
    armed = false;
    const bool rests = std::exchange(resting, false);
    if (closed || ended) return;
    if (error == boost::asio::error::operation_aborted) {
      space = {};
      if (left > 0) {
        drain_now();
      } else if (rests && reading) {
        wait();
      }
    } else if (error == boost::asio::error::eof) {
      end({});
    } else if (error) {
      fail(error.value());
    } else {
      deliver(size);
      if (left > 0) drain_now();
    }
  }

  void drain(std::size_t most) override {
    if (closed || ended || left > 0) return;
    if (armed && access == Access::direct) {
      // Ends the read under way, which goes on with the draining; if it has already got something,
      // that is delivered first.
      boost::system::error_code ignored;
      asio.cancel(ignored);
    } else {
      boost::asio::post(core.context,
                        detail::io::InMemory(write_memory, [self = shared_from_this()] {
                          self->armed = false;
                          if (!self->closed && !self->ended) self->drain_now();
                        }));
    }
    left = std::max<std::size_t>(most, 1);
    core.touch();
  }

  void drain_now() {
    while (!closed && !ended && left > 0) {
      if (!read_once()) return end({});
      left -= std::min(left, got_last);
    }
    if (!closed && !ended) end({});
  }

  void deliver(std::size_t size) {
    got_last = size;
    delivering = true;
    try {
      handler->on_data(size);
    } catch (...) {
      delivering = false;
      arm();
      throw;
    }
    delivering = false;
    arm();
  }

  void end(Result<void> how) {
    ended = true;
    handler->on_end(how);
  }
  void fail(int code) {
    // A peer that vanished is an end like any other for whoever reads; the words differ.
    end(detail::io::system_error("reading failed", code));
  }

  /// Reads without waiting; false if nothing was there.
  bool read_once() {
    if (access == Access::shared && !socket && !ready(POLLIN)) return false;
    space = handler->on_space();
    if (closed) return true;
    ssize_t got = 0;
    do {
      got = socket ? ::recv(raw(), space.data(), space.size(), MSG_DONTWAIT)
                   : ::read(raw(), space.data(), space.size());
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
      deliver(static_cast<std::size_t>(got));
      return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (got == 0) {
      end({});
    } else {
      fail(errno);
    }
    return true;
  }

  bool ready(short what) noexcept {
    pollfd one{raw(), what, 0};
    return ::poll(&one, 1, 0) > 0;
  }

  // --- waiting on a shared descriptor: one wait serves both directions

  void watch() {
    epoll_event event{};
    event.events = (armed ? EPOLLIN : 0u) | (awaiting_space ? EPOLLOUT : 0u);
    ::epoll_ctl(asio.native_handle(), EPOLL_CTL_MOD, fd.get(), &event);
    if (watching || event.events == 0) return;
    watching = true;
    asio.async_wait(detail::io::AsioDescriptor::wait_read,
                    detail::io::InMemory(
                        read_memory, [self = shared_from_this()](boost::system::error_code error) {
                          self->watching = false;
                          if (!error && !self->closed) self->on_ready();
                        }));
  }

  void on_ready() {
    if (awaiting_space && ready(POLLOUT)) {
      awaiting_space = false;
      handler->on_writable();
      if (closed) return;
    }
    if (armed) {
      armed = false;
      if (reading && !ended && left == 0 && !read_once()) arm();
      if (closed) return;
    }
    if (!watching) watch();
  }

  // --- writing

  Result<std::size_t> write_some(std::string_view bytes) override {
    if (closed) return error("writing failed: the stream is closed");
    std::size_t done = 0;
    while (done < bytes.size()) {
      std::size_t size = bytes.size() - done;
      if (access == Access::shared && !socket) {
        // Writable means that this much fits without blocking, and no more is promised.
        if (!ready(POLLOUT)) return wait_for_space(done);
        size = std::min<std::size_t>(size, PIPE_BUF);
      }
      const ssize_t put =
          socket ? ::send(raw(), bytes.data() + done, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                 : detail::io::write_quietly(raw(), bytes.data() + done, size);
      if (put >= 0) {
        done += static_cast<std::size_t>(put);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return wait_for_space(done);
      } else if (errno != EINTR) {
        return detail::io::system_error("writing failed", errno);
      }
    }
    return done;
  }

  std::size_t wait_for_space(std::size_t done) {
    if (awaiting_space) return done;
    awaiting_space = true;
    if (access == Access::shared) {
      watch();
    } else {
      asio.async_wait(detail::io::AsioDescriptor::wait_write,
                      detail::io::InMemory(write_memory,
                                           [self = shared_from_this()](boost::system::error_code) {
                                             if (self->closed) return;
                                             self->awaiting_space = false;
                                             self->handler->on_writable();
                                           }));
    }
    core.touch();
    return done;
  }
};

/// A second open file for the same pipe or terminal, so that O_NONBLOCK on it is nobody else's.
Descriptor reopen(int fd) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int mode = ::fcntl(fd, F_GETFL) & O_ACCMODE;
  return Descriptor(::open(path, mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

}  // namespace

Stream::Handler::~Handler() = default;

Stream detail::io::make_stream(std::shared_ptr<StreamState> state) noexcept {
  return Stream(std::move(state));
}
detail::io::StreamState& detail::io::state_of(Stream& stream) noexcept { return *stream.state_; }

Stream::Stream(std::shared_ptr<detail::io::StreamState> state) noexcept
    : state_(std::move(state)) {}
Stream::~Stream() {
  if (state_) state_->close();
}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

Result<Stream> Stream::open(Loop& loop, Descriptor fd, Sharing sharing) {
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0)
    return detail::io::system_error("descriptor " + std::to_string(fd.get()) + " cannot be used",
                                    errno);
  if (S_ISDIR(about.st_mode))
    return error("descriptor " + std::to_string(fd.get()) + " is a directory, which has no bytes");

  const bool socket = S_ISSOCK(about.st_mode);
  const bool waits = socket || S_ISFIFO(about.st_mode) ||
                     (S_ISCHR(about.st_mode) && detail::io::pollable(fd.get()));
  Access access = Access::plain;
  if (waits) {
    access = sharing == Sharing::own ? Access::direct : Access::shared;
    if (access == Access::shared && !socket) {
      if (Descriptor again = reopen(fd.get())) {
        fd = std::move(again);
        access = Access::direct;
      }
    }
  }
  if (const int flags = ::fcntl(fd.get(), F_GETFD); (flags & FD_CLOEXEC) == 0)
    ::fcntl(fd.get(), F_SETFD, flags | FD_CLOEXEC);

  auto state = std::make_shared<Plain>(detail::io::core(loop), std::move(fd), access, socket);
  if (auto ready = state->init(); !ready) return ready.error();
  return Stream(std::move(state));
}

void Stream::set_handler(Handler& handler) noexcept { state_->set_handler(handler); }
void Stream::resume() {
  const auto state = state_;  // on_space() may destroy the Stream
  state->resume();
}
void Stream::pause() noexcept { state_->pause(); }
bool Stream::rest() noexcept { return state_->rest(); }
Result<std::size_t> Stream::write_some(std::string_view bytes) { return state_->write_some(bytes); }
void Stream::drain(std::size_t most) { state_->drain(most); }
void Stream::shutdown_write() noexcept { state_->shutdown_write(); }
void Stream::close() noexcept { state_->close(); }
std::string Stream::peer() const { return state_->peer(); }
std::string Stream::local() const { return state_->local(); }
bool Stream::secure() const noexcept { return state_->secure(); }
std::shared_ptr<const PeerCertificate> Stream::certificate() const noexcept {
  return state_->certificate();
}
std::optional<PeerProcess> Stream::process() const noexcept { return state_->process(); }
void Stream::attach(std::shared_ptr<void> companion) noexcept {
  state_->attach(std::move(companion));
}

}  // namespace godwit::inline v0
