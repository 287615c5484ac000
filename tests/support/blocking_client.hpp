// A client on a socket that waits for what it reads, for servers that run on threads of their own.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "godwit/io/address.hpp"

namespace godwit::test {

/// Nothing that it waits for may take long: that fails the test.
class BlockingClient {
 public:
  explicit BlockingClient(const std::string& address)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto to = Address::parse(address);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(to->port);
    ::inet_pton(AF_INET, to->host.c_str(), &where.sin_addr);
    const timeval most{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  }
  ~BlockingClient() { ::close(fd_); }
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return;  // the other side is gone, which reading shows
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  /// Reads up to and with `end`; what was read without it if the other side closed.
  std::string until(std::string_view end) {
    for (;;) {
      const std::size_t at = in_.find(end);
      if (at != in_.npos) return take(at + end.size());
      if (!read_more()) return take(in_.size());
    }
  }
  std::string exactly(std::size_t size) {
    while (in_.size() < size && read_more()) {
    }
    return take(std::min(size, in_.size()));
  }
  bool closed() const noexcept { return closed_; }

  struct Response {
    int status = 0;  // 0 if the connection was closed instead
    std::string head{};
    std::string body{};
    std::string field(std::string_view name) const {
      const std::size_t at = head.find(std::string(name) + ": ");
      if (at == head.npos) return {};
      const std::size_t begin = at + name.size() + 2;
      return head.substr(begin, head.find('\r', begin) - begin);
    }
  };
  /// The head of an HTTP response, and its body unless it is a stream that stays open.
  Response response(bool stays_open = false) {
    Response response;
    response.head = until("\r\n\r\n");
    if (response.head.starts_with("HTTP/1.1 ")) response.status = std::atoi(&response.head[9]);
    if (stays_open && response.status == 200) return response;
    if (response.field("Transfer-Encoding") == "chunked") {
      for (;;) {
        const std::string line = until("\r\n");
        const std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
        response.body += exactly(size);
        until("\r\n");
        if (closed_) response.status = 0;
        if (size == 0) break;
      }
    } else {
      response.body = exactly(std::strtoul(response.field("Content-Length").c_str(), nullptr, 10));
    }
    return response;
  }

 private:
  std::string take(std::size_t size) {
    std::string out = in_.substr(0, size);
    in_.erase(0, size);
    return out;
  }
  bool read_more() {
    if (closed_) return false;
    char bytes[4096];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got > 0) {
      in_.append(bytes, static_cast<std::size_t>(got));
      return true;
    }
    EXPECT_FALSE(got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "nothing comes: " << in_;
    closed_ = true;
    return false;
  }

  int fd_;
  std::string in_;
  bool closed_ = false;
};

}  // namespace godwit::test
