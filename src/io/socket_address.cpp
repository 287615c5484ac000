#include "io/socket_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "io/system.hpp"

namespace godwit::inline v0::detail::io {

namespace {

int look_up(const Address& address, int flags, std::vector<SocketAddress>& out) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (code != 0) return code;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, ::freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    SocketAddress one;
    std::memcpy(&one.storage, at->ai_addr, at->ai_addrlen);
    one.size = at->ai_addrlen;
    out.push_back(one);
  }
  return 0;
}

}  // namespace

std::optional<SocketAddress> numeric(const Address& address) {
  std::vector<SocketAddress> found;
  if (look_up(address, AI_NUMERICHOST, found) != 0 || found.empty()) return std::nullopt;
  return found.front();
}

Result<std::vector<SocketAddress>> resolve(const Address& address) {
  std::vector<SocketAddress> found;
  const int code = look_up(address, 0, found);
  if (code != 0) {
    const std::string why = code == EAI_SYSTEM ? text_of(errno) : ::gai_strerror(code);
    return error("host \"" + address.host + "\" was not found: " + why);
  }
  return found;
}

Result<SocketAddress> unix_address(const std::string& path) {
  SocketAddress address;
  auto& target = reinterpret_cast<sockaddr_un&>(address.storage);
  if (path.empty() || path.size() >= sizeof target.sun_path || path.find('\0') != path.npos) {
    return error("socket path \"" + path.substr(0, 128) + "\" must have 1 to " +
                 std::to_string(sizeof target.sun_path - 1) + " bytes; use a shorter directory");
  }
  target.sun_family = AF_UNIX;
  std::memcpy(target.sun_path, path.data(), path.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

std::optional<IpAddress> ip_address_of(const sockaddr_storage& storage) {
  IpAddress out;
  if (storage.ss_family == AF_INET) {
    out.bytes[10] = out.bytes[11] = 0xff;
    std::memcpy(&out.bytes[12], &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, 4);
    return out;
  }
  if (storage.ss_family != AF_INET6) return std::nullopt;
  std::memcpy(out.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, 16);
  return out;
}

std::string name_of(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return Address{.host = text, .port = ntohs(v4.sin_port)}.text();
  }
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return Address{.host = text, .port = ntohs(v6.sin6_port)}.text();
  }
  return storage.ss_family == AF_UNIX ? "unix" : "";
}

std::string peer_name(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return name_of(storage);
}

std::string local_name(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  if (storage.ss_family != AF_UNIX) return name_of(storage);
  sockaddr_un path{};
  std::memcpy(&path, &storage, sizeof path);
  const std::size_t most = size - std::min<std::size_t>(size, offsetof(sockaddr_un, sun_path));
  return {path.sun_path, ::strnlen(path.sun_path, most)};
}

std::optional<PeerProcess> peer_process(int fd) noexcept {
#if defined(SO_PEERCRED)
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
      own.ss_family != AF_UNIX) {
    return std::nullopt;
  }
  ucred found{};
  size = sizeof found;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return std::nullopt;
  return PeerProcess{.process = found.pid, .user = found.uid, .group = found.gid};
#else
  static_cast<void>(fd);
  return std::nullopt;
#endif
}

}  // namespace godwit::inline v0::detail::io
