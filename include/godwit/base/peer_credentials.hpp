// What proves who is at the other end of a connection: a certificate shown to TLS, or a process
// that the system vouches for. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace godwit::inline v0 {

/// Of the other end, signed by an authority that is trusted here.
struct PeerCertificate {
  /// Whom it names, as RFC 2253 writes it: "CN=ada,O=Example".
  std::string subject{};
  /// The SHA-256 of the certificate in 64 hexadecimal digits: no other one has it.
  std::string sha256{};
  bool operator==(const PeerCertificate&) const = default;
};

/// Who opened the other end of a unix socket.
struct PeerProcess {
  std::int64_t process = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  bool operator==(const PeerProcess&) const = default;
};

}  // namespace godwit::inline v0
