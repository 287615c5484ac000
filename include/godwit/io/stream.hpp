// Stream: bytes in and out of a descriptor: pipe, socket, terminal, regular file, /dev/null; or of
// TLS over such a Stream (tls.hpp), which is used in the same way.
//
// Owner: whoever reads and writes; the descriptor belongs to the Stream and is closed with it.
// Threads: the one that drives the loop. Callbacks of the Handler come from the loop, never from
// inside a call to the Stream (but for on_space, from resume), and none comes after the Stream is
// destroyed, which is allowed inside a callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/peer_credentials.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/descriptor.hpp"
#include "godwit/io/loop.hpp"

namespace godwit::inline v0 {

class Stream;
namespace detail::io {
struct StreamState;
Stream make_stream(std::shared_ptr<StreamState> state) noexcept;
StreamState& state_of(Stream& stream) noexcept;
}  // namespace detail::io

class GODWIT_API Stream {
 public:
  /// Who else uses the open file behind the descriptor.
  enum class Sharing : std::uint8_t {
    /// Nobody: the descriptor is made non-blocking.
    own,
    /// Perhaps the parent, a sibling or the shell, as with stdin and stdout: flags stay as they
    /// are,
    /// because O_NONBLOCK belongs to the open file and would surprise them.
    inherited,
  };

  class GODWIT_API Handler {
   public:
    virtual ~Handler();
    /// Where the next bytes go; not empty. It stays valid and untouched until on_data(), on_end()
    /// or a rest() that was granted.
    virtual std::span<char> on_space() = 0;
    /// So many bytes are in the space.
    virtual void on_data(std::size_t size) = 0;
    /// Nothing more will be read: an orderly end of input, or the error that broke it.
    virtual void on_end(const Result<void>& how) = 0;
    /// After a write_some() that took less than all: try again.
    virtual void on_writable() = 0;
  };

  /// Fails if the descriptor is not open or is something that has no bytes, such as a directory.
  static Result<Stream> open(Loop& loop, Descriptor fd, Sharing sharing = Sharing::own);

  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  /// False once it was moved from.
  explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Who gets the callbacks; must be set before reading or writing. It must outlive the Stream.
  void set_handler(Handler& handler) noexcept;

  /// Reads from now on: one read per turn of the loop, so that no stream starves the others.
  void resume();
  /// Stops reading. A read that is already under way may still deliver once.
  void pause() noexcept;
  /// Goes on reading, but without the space that on_space() gave, which may be used otherwise or
  /// freed: new space is asked for when something has come. False means that a read still has it;
  /// ask again later, unless something has come by then.
  [[nodiscard]] bool rest() noexcept;

  /// Writes what is taken at once. Less than all (also 0) means the other side is slow:
  /// on_writable() follows. Never raises SIGPIPE. An error is final.
  Result<std::size_t> write_some(std::string_view bytes);

  /// Reads what is there, without waiting for more and at most `most` bytes, whether paused or not;
  /// then on_end() comes. For the last words of a process that ended, whose pipe others may hold
  /// open.
  void drain(std::size_t most);

  /// Tells the other side that nothing more will be written (sockets; others ignore it).
  void shutdown_write() noexcept;

  /// Closes the descriptor now; no callback follows. Afterwards nothing is read and writing fails.
  void close() noexcept;

  /// Who is at the other end of a socket: "127.0.0.1:4711", "[::1]:80", "unix"; empty for the rest.
  std::string peer() const;
  /// The own end of a socket: the address that a client connected to, with the path where it is a
  /// unix socket; empty for the rest.
  std::string local() const;

  /// Whether TLS protects the bytes.
  bool secure() const noexcept;
  /// What the other end has shown in the handshake of TLS; null if it has shown nothing, or not
  /// yet.
  std::shared_ptr<const PeerCertificate> certificate() const noexcept;
  /// Who opened the other end of a unix socket, as the system knew it then; nothing for the rest.
  std::optional<PeerProcess> process() const noexcept;

  /// Keeps something alive as long as the Stream is open.
  void attach(std::shared_ptr<void> companion) noexcept;

 private:
  friend Stream detail::io::make_stream(std::shared_ptr<detail::io::StreamState> state) noexcept;
  friend detail::io::StreamState& detail::io::state_of(Stream& stream) noexcept;
  explicit Stream(std::shared_ptr<detail::io::StreamState> state) noexcept;
  std::shared_ptr<detail::io::StreamState> state_;
};

}  // namespace godwit::inline v0
