#include "godwit/io/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <new>
#include <utility>

#include "godwit/io/ip_address.hpp"
#include "godwit/io/timer.hpp"
#include "io/asio_descriptor.hpp"
#include "io/loop_core.hpp"
#include "io/op_memory.hpp"
#include "io/socket_address.hpp"
#include "io/system.hpp"

namespace godwit::inline v0 {

namespace {

/// Out of descriptors or memory: waiting lets connections end; trying again at once would spin.
constexpr auto back_off = std::chrono::milliseconds(20);
/// Accepted per turn of the loop, so that a flood of connections does not starve the accepted ones.
constexpr int accepts_per_turn = 64;

/// Removes a socket file that its listener left behind, and nothing else.
Result<void> remove_stale(const std::string& path, const detail::io::SocketAddress& address) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) != 0) {
    if (errno == ENOENT) return {};
    return detail::io::system_error("socket \"" + path + "\"", errno);
  }
  if (!S_ISSOCK(about.st_mode))
    return error("\"" + path + "\" exists and is no socket; choose another path or remove it");
  if (about.st_uid != ::geteuid())
    return error("socket \"" + path + "\" belongs to another user; choose another path");
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED)
    return error("socket \"" + path + "\" is in use by a running program; choose another path");
  if (::unlink(path.c_str()) != 0)
    return detail::io::system_error("socket \"" + path + "\"", errno);
  return {};
}

/// What would otherwise fail at every connection.
Result<void> check(const std::string& cannot, const ListenerOptions& options) {
  if (options.tls && !options.tls->is_server())
    return error(cannot + ": accepting needs a TlsContext::server(), and this one is for clients");
  return {};
}

/// Whom a connection is counted for; nothing if it is not counted.
std::optional<IpAddress> origin_of(const sockaddr_storage& peer, const ListenerOptions& options) {
  if (options.per_address == 0) return std::nullopt;
  const std::optional<IpAddress> address = detail::io::ip_address_of(peer);
  if (!address || (options.loopback_exempt && address->is_loopback())) return std::nullopt;
  return address->owner();
}

struct Open {
  std::size_t all = 0;
  std::map<IpAddress, std::size_t> of{};  // never more than `all`
};

/// One connection counted, as long as this lives.
class Counted {
 public:
  Counted(std::shared_ptr<Open> open, std::optional<IpAddress> origin)
      : open_(std::move(open)), origin_(origin) {
    if (origin_) ++open_->of[*origin_];
    ++open_->all;
  }
  ~Counted() {
    --open_->all;
    if (!origin_) return;
    const auto at = open_->of.find(*origin_);
    if (--at->second == 0) open_->of.erase(at);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::shared_ptr<Open> open_;
  std::optional<IpAddress> origin_;
};

}  // namespace

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Listener::State : std::enable_shared_from_this<State> {
  State(Loop& on, OnAccept callback, ListenerOptions given)
      : loop(on),
        core(detail::io::core(on)),
        socket(core.context.get_executor()),
        timer(on),
        on_accept(std::move(callback)),
        options(std::move(given)) {}

  Loop& loop;
  detail::io::LoopCore& core;
  detail::io::AsioDescriptor socket;
  Timer timer;
  OnAccept on_accept;
  ListenerOptions options;
  std::shared_ptr<Open> open = std::make_shared<Open>();
  std::string name;
  bool tcp = false;
  bool closed = false;
  detail::io::OpMemory memory;
  dev_t device = 0;  // which file the path was when it was made
  ino_t inode = 0;

  void wait() {
    socket.async_wait(
        detail::io::AsioDescriptor::wait_read,
        detail::io::InMemory(memory, [self = shared_from_this()](boost::system::error_code failed) {
          if (!failed && !self->closed) self->accept();
        }));
    core.touch();
  }

  void accept() {
    const auto self = shared_from_this();  // on_accept may destroy the Listener
    bool later = false;
    try {
      later = accept_some();
    } catch (...) {  // what on_accept threw leaves Loop::run(), which may be called again
      if (!closed) wait();
      throw;
    }
    if (!closed && !later) wait();
  }

  bool somebody_waits() noexcept {
    pollfd ready{socket.native_handle(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }

  /// True if it goes on by itself later.
  bool accept_some() {
    for (int turn = 0; turn < accepts_per_turn && !closed; ++turn) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      Descriptor fd(::accept4(socket.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        try {
          take(std::move(fd), peer);
        } catch (const std::bad_alloc&) {  // this connection has to do without; others follow
          options.log.limited(LogLevel::error, "a connection was dropped: out of memory");
        }
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        const int why = errno;
        if (!somebody_waits()) break;  // the system looks for a descriptor first
        if ((why == EMFILE || why == ENFILE) && options.make_room && options.make_room()) continue;
        if (closed) break;
        warn("no more connections can be accepted for now: " + detail::io::text_of(why));
        if (closed) break;  // by the sink of the log
        timer.start(back_off, [this] { accept(); });
        return true;
      }
      // Anything else concerns the one connection that went away before it was accepted.
    }
    return false;
  }

  void take(Descriptor fd, const sockaddr_storage& peer) {
    const auto origin = origin_of(peer, options);
    if (origin) {
      const auto at = open->of.find(*origin);
      if (at != open->of.end() && at->second >= options.per_address) {
        warn("a connection from " + detail::io::name_of(peer) +
             " was refused: " + std::to_string(at->second) + " of this address are open already");
        if (!closed && options.on_refused) turn_away(std::move(fd));
        return;
      }
    }
    if (open->all >= options.connections && options.make_room) options.make_room();
    if (closed) return;
    if (open->all >= options.connections) {
      return warn("a connection was refused: " + std::to_string(open->all) + " are open already");
    }
    if (tcp) {
      detail::io::set_tcp_options(fd.get());
    }
    auto stream = Stream::open(loop, std::move(fd));
    if (!stream) return warn("a connection was dropped: " + stream.error().message);
    if (options.tls) {
      stream = tls_accept(loop, std::move(*stream), *options.tls);
      if (!stream) return warn("a connection was dropped: " + stream.error().message);
    }
    stream->attach(std::make_shared<Counted>(open, origin));
    on_accept(std::move(*stream));
  }

  void turn_away(Descriptor fd) {
    auto stream = Stream::open(loop, std::move(fd));
    if (stream) options.on_refused(std::move(*stream));
  }

  void warn(const std::string& what) { options.log.limited(LogLevel::warning, name + ": " + what); }

  void close() noexcept {
    if (closed) return;
    closed = true;
    timer.cancel();
    boost::system::error_code ignored;
    socket.close(ignored);
    struct stat about{};
    if (inode != 0 && ::lstat(name.c_str(), &about) == 0 && about.st_ino == inode &&
        about.st_dev == device) {
      ::unlink(name.c_str());
    }
  }

  Result<void> listen(Descriptor fd) {
    if (::listen(fd.get(), SOMAXCONN) != 0) return detail::io::system_error(name, errno);
    boost::system::error_code failed;
    socket.assign(fd.get(), failed);
    if (failed) return detail::io::system_error(name, failed.value());
    fd.release();
    wait();
    return {};
  }
};

Listener::Listener(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Listener::~Listener() {
  if (state_) state_->close();
}
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(Listener&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

Result<Listener> Listener::tcp(Loop& loop, const Address& address, OnAccept on_accept,
                               ListenerOptions options) {
  auto where = detail::io::numeric(address);
  if (!where) {
    auto found = detail::io::resolve(address);
    if (!found) return found.error();
    where = found->front();
  }
  const std::string cannot = "cannot listen on " + address.text();
  if (auto good = check(cannot, options); !good) return good.error();
  Descriptor fd(::socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return detail::io::system_error(cannot, errno);
  const int on = 1;
  // A restart must not wait for the connections of the last run to be forgotten.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.share_port && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
    return detail::io::system_error(cannot, errno);
  if (::bind(fd.get(), where->get(), where->size) != 0)
    return detail::io::system_error(cannot, errno);

  Listener listener(std::make_shared<State>(loop, std::move(on_accept), std::move(options)));
  listener.state_->tcp = true;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  listener.state_->name = detail::io::name_of(bound);
  if (auto good = listener.state_->listen(std::move(fd)); !good) return good.error();
  return listener;
}

Result<Listener> Listener::unix_socket(Loop& loop, const std::string& path, OnAccept on_accept,
                                       ListenerOptions options) {
  auto where = detail::io::unix_address(path);
  if (!where) return where.error();
  if (auto good = check("cannot listen on \"" + path + "\"", options); !good) return good.error();
  if (auto good = remove_stale(path, *where); !good) return good.error();

  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return detail::io::system_error("cannot listen on \"" + path + "\"", errno);
  // The mode of the socket itself becomes the mode of the file: there is no moment at which others
  // could connect, and the umask of the process, which all threads share, is left alone.
  ::fchmod(fd.get(), 0600);
  if (::bind(fd.get(), where->get(), where->size) != 0)
    return detail::io::system_error("cannot listen on \"" + path + "\"", errno);

  Listener listener(std::make_shared<State>(loop, std::move(on_accept), std::move(options)));
  State& state = *listener.state_;
  state.name = path;
  struct stat about{};
  if (::lstat(path.c_str(), &about) == 0) {
    state.device = about.st_dev;
    state.inode = about.st_ino;
  }
  if ((about.st_mode & 0077) != 0 && ::chmod(path.c_str(), 0600) != 0)
    return detail::io::system_error("socket \"" + path + "\" cannot be made private", errno);
  if (auto good = state.listen(std::move(fd)); !good) return good.error();
  return listener;
}

const std::string& Listener::address() const noexcept { return state_->name; }
std::size_t Listener::connections() const noexcept { return state_->open->all; }

}  // namespace godwit::inline v0
