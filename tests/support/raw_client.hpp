// A TCP client for tests of servers that run on a Loop of the same thread: while it waits, the loop
// is driven.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/http/fields.hpp"
#include "godwit/io/address.hpp"
#include "godwit/io/loop.hpp"
#include "wait.hpp"

namespace godwit::test {

/// One response as it was read.
struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;
  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
};

class RawClient {
 public:
  RawClient(Loop& loop, const std::string& address, int receive_buffer = 0) : loop_(loop) {
    const auto to = Address::parse(address);
    EXPECT_TRUE(to) << address;
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(to->port);
    EXPECT_EQ(::inet_pton(AF_INET, to->host.c_str(), &where.sin_addr), 1) << address;
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    // Completed by the system, whether the server has accepted it or not.
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Closes without the usual goodbye.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void half_close() { ::shutdown(fd_, SHUT_WR); }

  /// As far as it goes at once; gives how much that was.
  std::size_t send_some(std::string_view bytes) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  void send(std::string_view bytes) {
    run_until(loop_, [&] {
      bytes.remove_prefix(send_some(bytes));
      return bytes.empty();
    });
    EXPECT_TRUE(bytes.empty()) << "the server does not read";
  }

  /// Reads what is there.
  void take() {
    char buffer[64 << 10];
    for (;;) {
      const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
      if (size > 0) {
        in.append(buffer, static_cast<std::size_t>(size));
        continue;
      }
      if (size == 0) ended = true;
      if (size < 0 && errno != EAGAIN && errno != EINTR) ended = broken = true;
      return;
    }
  }
  template <class Condition>
  bool wait(Condition condition) {
    return run_until(loop_, [&] {
      take();
      return condition();
    });
  }
  bool wait_end() {
    return wait([&] { return ended; });
  }
  /// The next response; taken off the input.
  RawResponse response(bool to_head = false) {
    std::optional<RawResponse> found;
    wait([&] {
      found = parse(to_head);
      return found || ended;
    });
    if (!found) found = parse(to_head);
    EXPECT_TRUE(found) << "no response in: " << in.substr(0, 500);
    return found.value_or(RawResponse{});
  }
  RawResponse ask(std::string_view request, bool to_head = false) {
    send(request);
    return response(to_head);
  }

  std::string in;
  bool ended = false, broken = false;

 private:
  std::optional<RawResponse> parse(bool to_head) {
    const std::size_t head_end = in.find("\r\n\r\n");
    if (head_end == in.npos) return std::nullopt;
    RawResponse out;
    std::string_view head = std::string_view(in).substr(0, head_end);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 ")) << head;
    std::from_chars(head.data() + 9, head.data() + head.size(), out.status);
    for (std::size_t at = head.find("\r\n"); at != head.npos;) {
      const std::size_t next = head.find("\r\n", at + 2);
      const std::string_view line = head.substr(at + 2, next == head.npos ? next : next - at - 2);
      const std::size_t colon = line.find(": ");
      EXPECT_NE(colon, line.npos) << line;
      std::string name(line.substr(0, colon));
      std::ranges::transform(name, name.begin(),
                             [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
      EXPECT_TRUE(out.fields.emplace(name, line.substr(colon + 2)).second) << name << " twice";
      at = next;
    }
    std::size_t at = head_end + 4;
    const bool no_body = to_head || out.status < 200 || out.status == 204 || out.status == 304;
    if (!no_body && out.field("transfer-encoding") == "chunked") {
      for (;;) {
        const std::size_t line = in.find("\r\n", at);
        if (line == in.npos) return std::nullopt;
        const std::size_t size = std::stoul(in.substr(at, line - at), nullptr, 16);
        if (in.size() < line + 2 + size + 2) return std::nullopt;
        out.body += in.substr(line + 2, size);
        EXPECT_EQ(in.substr(line + 2 + size, 2), "\r\n");
        at = line + 2 + size + 2;
        if (size == 0) break;
      }
    } else if (!no_body && out.fields.contains("content-length")) {
      const std::size_t size = std::stoul(out.field("content-length"));
      if (in.size() < at + size) return std::nullopt;
      out.body = in.substr(at, size);
      at += size;
    } else if (!no_body) {
      if (!ended) return std::nullopt;
      out.body = in.substr(at);
      at = in.size();
    }
    in.erase(0, at);
    return out;
  }

  Loop& loop_;
  int fd_ = -1;
  bool connected_ = false;
};

}  // namespace godwit::test
