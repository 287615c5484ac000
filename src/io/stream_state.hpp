// What stands behind a Stream: one kind reads and writes a descriptor (stream.cpp), the other one
// speaks TLS over a Stream (tls_stream.cpp). Private to the io module.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/io/stream.hpp"

namespace godwit::inline v0::detail::io {

/// The contract is that of Stream. Kept alive by the Stream and by what it waits for.
struct StreamState {
  StreamState() = default;
  virtual ~StreamState() = default;
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  virtual void set_handler(Stream::Handler& handler) noexcept = 0;
  virtual void resume() = 0;
  virtual void pause() noexcept = 0;
  virtual bool rest() noexcept = 0;
  virtual Result<std::size_t> write_some(std::string_view bytes) = 0;
  virtual void drain(std::size_t most) = 0;
  virtual void shutdown_write() noexcept = 0;
  virtual void close() noexcept = 0;
  virtual std::string peer() = 0;
  virtual std::string local() = 0;
  virtual bool secure() const noexcept { return false; }
  virtual std::shared_ptr<const PeerCertificate> certificate() const noexcept { return nullptr; }
  virtual std::optional<PeerProcess> process() const noexcept { return std::nullopt; }
  virtual void attach(std::shared_ptr<void> companion) noexcept = 0;
};

}  // namespace godwit::inline v0::detail::io
