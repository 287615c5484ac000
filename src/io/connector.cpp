#include "godwit/io/connector.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "godwit/base/rollback.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/wakeup.hpp"
#include "io/asio_descriptor.hpp"
#include "io/loop_core.hpp"
#include "io/socket_address.hpp"
#include "io/system.hpp"
#include "io/tls_core.hpp"

namespace godwit::inline v0 {

using Addresses = Result<std::vector<detail::io::SocketAddress>>;

namespace {

/// Where the thread that looks up a name leaves its answer. The thread cannot be interrupted, so it
/// is detached and may outlive everything else; the lock decides whether anybody still waits.
struct Mailbox {
  std::mutex mutex;
  Wakeup* arrived = nullptr;
  Addresses found;
};

}  // namespace

/// Shared because a wait of Asio that is under way needs it until it was told the end.
struct Connector::Attempt : std::enable_shared_from_this<Attempt> {
  Attempt(Loop& on, std::string where, OnConnect callback)
      : loop(on),
        socket(detail::io::core(on).context.get_executor()),
        timer(on),
        work(on),
        arrived(on, [this] { survive([&] { on_found(std::move(mailbox->found)); }); }),
        name(std::move(where)),
        done(std::move(callback)) {}

  Loop& loop;
  detail::io::AsioDescriptor socket;
  Timer timer;
  Loop::Work work;  // a lookup on its thread is something that can still wake the loop
  Wakeup arrived;   // the addresses are in the mailbox
  std::string name;
  OnConnect done;
  std::optional<TlsContext> tls;
  std::string server_name;
  std::optional<Stream> securing;  // its handshake is under way
  const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>();
  std::vector<detail::io::SocketAddress> addresses;
  std::size_t next = 0;
  int last_error = 0;

  void limit(Duration timeout) {
    timer.start(timeout, [this] { survive([&] { finish(fail("no answer in time")); }); });
  }

  /// Runs one step of it. Without the memory for that, the attempt has failed.
  template <class F>
  void survive(F&& step) {
    const auto self = shared_from_this();  // whoever is told may destroy the Connector
    try {
      step();
    } catch (const std::bad_alloc&) {
      if (!done) throw;  // by the one who was told
      finish(out_of_memory(Cause::not_connected));
    }
  }

  Error fail(const std::string& why) const {
    return Error{.message = "cannot connect to " + name + ": " + why,
                 .cause = Cause::not_connected};
  }

  /// Goes on from the loop.
  void know(Addresses found) noexcept {
    mailbox->found = std::move(found);
    arrived.signal();
  }

  void look_up(const Address& address) {
    mailbox->arrived = &arrived;
    try {
      std::thread([box = mailbox, address] {
        Addresses found = out_of_memory(Cause::not_connected);
        try {
          found = detail::io::resolve(address);
        } catch (const std::bad_alloc&) {  // that is the answer
        }
        const std::lock_guard lock(box->mutex);
        if (!box->arrived) return;
        box->found = std::move(found);
        box->arrived->signal();
      }).detach();
    } catch (const std::system_error& e) {
      know(error(std::string("the name cannot be looked up: ") + e.what()));
    }
  }

  void on_found(Addresses found) {
    if (!done) return;
    if (!found) return finish(fail(found.error().message));
    addresses = std::move(*found);
    try_next();
  }

  void try_next() {
    while (next < addresses.size()) {
      const detail::io::SocketAddress& address = addresses[next++];
      Descriptor fd(
          ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!fd) {
        last_error = errno;
        continue;
      }
      if (address.storage.ss_family != AF_UNIX) {
        detail::io::set_tcp_options(fd.get());
      }
      if (::connect(fd.get(), address.get(), address.size) == 0) return secure(std::move(fd));
      if (errno != EINPROGRESS) {
        last_error = errno;
        continue;
      }
      boost::system::error_code failed;
      socket.assign(fd.get(), failed);
      if (failed) {
        last_error = failed.value();
        continue;
      }
      fd.release();
      return socket.async_wait(detail::io::AsioDescriptor::wait_write,
                               [self = shared_from_this()](boost::system::error_code stopped) {
                                 if (stopped || !self->done) return;
                                 self->survive([&] { self->on_ready(); });
                               });
    }
    finish(fail(detail::io::text_of(last_error)));
  }

  void on_ready() {
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &code, &size);
    Descriptor fd(socket.release());
    if (code == 0) return secure(std::move(fd));
    last_error = code;
    try_next();
  }

  void secure(Descriptor fd) {
    auto stream = Stream::open(loop, std::move(fd));
    if (!stream || !tls) return finish(std::move(stream));
    stream = tls_connect(loop, std::move(*stream), *tls, server_name);
    if (!stream) return finish(fail(stream.error().message));
    securing.emplace(std::move(*stream));
    detail::io::tls_handshake(*securing, [this](const Result<void>& how) {
      survive(
          [&] { finish(how ? Result<Stream>(std::move(*securing)) : fail(how.error().message)); });
    });
  }

  void finish(Result<Stream> result) {
    if (!done) return;
    const auto self = shared_from_this();  // the call may destroy the Connector
    OnConnect call = std::exchange(done, nullptr);
    give_up();
    call(std::move(result));
  }

  void give_up() noexcept {
    done = nullptr;
    timer.cancel();
    boost::system::error_code ignored;
    socket.close(ignored);
    securing.reset();
    {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->arrived = nullptr;
    }
    const Loop::Work ended = std::move(work);
  }
};

Connector::Connector(Loop& loop) : loop_(&loop) {}
Connector::~Connector() {
  if (attempt_) attempt_->give_up();
}
Connector::Connector(Connector&&) noexcept = default;
Connector& Connector::operator=(Connector&& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(attempt_, other.attempt_);
  return *this;
}

void Connector::tcp(const Address& address, OnConnect done, Duration timeout) {
  tcp(address, std::move(done), ConnectOptions{.timeout = timeout});
}

void Connector::tcp(const Address& address, OnConnect done, ConnectOptions options) {
  if (attempt_) attempt_->give_up();
  attempt_ = std::make_shared<Attempt>(*loop_, address.text(), std::move(done));
  Rollback undo([&] { attempt_->give_up(); });  // the caller gets the exception
  attempt_->limit(options.timeout);
  attempt_->tls = std::move(options.tls);
  attempt_->server_name = options.server_name.empty() ? address.host : options.server_name;
  if (auto known = detail::io::numeric(address)) {
    attempt_->know(std::vector<detail::io::SocketAddress>{*known});
  } else {
    attempt_->look_up(address);
  }
  undo.dismiss();
}

void Connector::unix_socket(const std::string& path, OnConnect done, Duration timeout) {
  if (attempt_) attempt_->give_up();
  attempt_ = std::make_shared<Attempt>(*loop_, "\"" + path + "\"", std::move(done));
  Rollback undo([&] { attempt_->give_up(); });  // the caller gets the exception
  attempt_->limit(timeout);
  const auto where = detail::io::unix_address(path);
  attempt_->know(where ? Addresses(std::vector<detail::io::SocketAddress>{*where})
                       : Addresses(where.error()));
  undo.dismiss();
}

}  // namespace godwit::inline v0
