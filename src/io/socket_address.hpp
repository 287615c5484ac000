// Between Address and what the system calls want. Private to the io module.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <vector>

#include "godwit/base/peer_credentials.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::detail::io {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// The address of a host that is written as numbers; nothing for a name.
std::optional<SocketAddress> numeric(const Address& address);

/// Asks the system for the addresses of a name; may take seconds.
Result<std::vector<SocketAddress>> resolve(const Address& address);

/// Fails if the path is empty or longer than the 107 bytes that the system allows.
Result<SocketAddress> unix_address(const std::string& path);

/// Nothing for a unix socket.
std::optional<IpAddress> ip_address_of(const sockaddr_storage& storage);

/// "127.0.0.1:80", "[::1]:80", "unix", or empty.
std::string name_of(const sockaddr_storage& storage);
std::string peer_name(int fd);
/// The same of the own end, with the path of a unix socket.
std::string local_name(int fd);
/// Nothing if it is no unix socket, or the system does not tell.
std::optional<PeerProcess> peer_process(int fd) noexcept;

}  // namespace godwit::inline v0::detail::io
