// ScriptServer: an HTTP server that does exactly what a test says, byte by byte. Each connection
// has a thread of its own, which runs the script with blocking calls.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace godwit::test {

/// A request as it came.
struct SeenRequest {
  std::string method{};
  std::string target{};
  std::map<std::string, std::string> fields{};  // names in lower case
  std::string body{};
  int connection = 0;  // counts from 1
  std::chrono::steady_clock::time_point when{};

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
  bool has(const std::string& name) const { return fields.contains(name); }
  bool body_has(std::string_view text) const { return body.find(text) != body.npos; }
  /// The JSON-RPC id in the body, as it is written there.
  std::string id() const {
    const std::size_t at = body.find("\"id\":");
    if (at == body.npos) return "null";
    return body.substr(at + 5, body.find_first_of(",}", at) - at - 5);
  }
};

class ScriptServer {
 public:
  class Peer {
   public:
    Peer(ScriptServer& server, int fd, int number) : server_(server), fd_(fd), number_(number) {}

    /// The next request; nothing if the client ended the connection.
    std::optional<SeenRequest> read() {
      std::size_t head = 0;
      if (over_) return std::nullopt;
      while ((head = in_.find("\r\n\r\n")) == in_.npos) {
        if (!more()) return std::nullopt;
      }
      SeenRequest request;
      std::size_t line = in_.find("\r\n");
      const std::string first = in_.substr(0, line);
      request.method = first.substr(0, first.find(' '));
      request.target = first.substr(first.find(' ') + 1, first.rfind(' ') - first.find(' ') - 1);
      while (line < head) {
        const std::size_t begin = line + 2;
        line = in_.find("\r\n", begin);
        const std::size_t colon = in_.find(':', begin);
        std::string name = in_.substr(begin, colon - begin);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        std::string value = in_.substr(colon + 1, line - colon - 1);
        value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
        request.fields[name] = value;
      }
      in_.erase(0, head + 4);
      const std::size_t length = request.has("content-length")
                                     ? static_cast<std::size_t>(std::strtoul(
                                           request.field("content-length").c_str(), nullptr, 10))
                                     : 0;
      while (in_.size() < length) {
        if (!more()) return std::nullopt;
      }
      request.body = in_.substr(0, length);
      in_.erase(0, length);
      request.connection = number_;
      request.when = std::chrono::steady_clock::now();
      server_.note(request);
      return request;
    }

    bool write(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t put = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (put <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(put));
      }
      return true;
    }
    /// One byte at a time, each in a packet of its own if the system is so kind.
    bool trickle(std::string_view bytes) {
      for (const char& c : bytes) {
        if (!write(std::string_view(&c, 1))) return false;
      }
      return true;
    }
    bool respond(int status, std::string_view type, std::string_view body,
                 std::string_view more = {}) {
      std::string out = "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(more);
      if (!type.empty()) out += "Content-Type: " + std::string(type) + "\r\n";
      if (status != 204) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
      return write(out + "\r\n" + std::string(body));
    }
    bool json(std::string_view body, std::string_view more = {}) {
      return respond(200, "application/json", body, more);
    }
    /// Begins an event stream that lasts until the connection ends.
    bool begin_events(std::string_view more = {}) {
      return write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + std::string(more) +
                   "\r\n");
    }
    bool event(std::string_view data) { return write("data: " + std::string(data) + "\n\n"); }

    /// Waits until the client ends the connection.
    void wait_for_end() {
      while (more()) in_.clear();
    }
    /// Ends it: read() gives nothing any more, so that the script returns.
    void cut() { over_ = true; }
    /// The same with a reset.
    void reset() {
      cut();
      const linger now{1, 0};
      ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    /// Passes bytes to and from this port of the own machine until one side ends: a proxy.
    void relay(std::uint16_t port) {
      const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      bool open = ::connect(other, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      while (open) {
        pollfd both[] = {{fd_, POLLIN, 0}, {other, POLLIN, 0}};
        ::poll(both, 2, -1);
        for (int i = 0; i < 2 && open; ++i) {
          if (both[i].revents == 0) continue;
          char buffer[4096];
          const ssize_t got = ::recv(both[i].fd, buffer, sizeof buffer, 0);
          open = got > 0 &&
                 ::send(both[1 - i].fd, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
        }
      }
      ::close(other);
      cut();
    }
    int number() const { return number_; }

   private:
    bool more() {
      char buffer[4096];
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      in_.append(buffer, static_cast<std::size_t>(got));
      return true;
    }

    ScriptServer& server_;
    int fd_;
    int number_;
    std::string in_;
    bool over_ = false;
  };

  /// Runs the script for each connection; when it returns, the connection is closed.
  using Script = std::function<void(Peer&)>;

  explicit ScriptServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0) {
      std::abort();
    }
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
  }
  ~ScriptServer() { stop(); }
  ScriptServer(const ScriptServer&) = delete;
  ScriptServer& operator=(const ScriptServer&) = delete;

  /// Ends every connection and listens no more.
  void stop() {
    if (!acceptor_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& [number, fd] : open_) ::shutdown(fd, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }

  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string url(std::string_view path = "/mcp") const { return origin() + std::string(path); }
  std::uint16_t port() const { return port_; }

  /// All requests so far, in the order they came.
  std::vector<SeenRequest> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  /// Those of a method of HTTP.
  std::vector<SeenRequest> seen(std::string_view method) const {
    std::vector<SeenRequest> out = seen();
    std::erase_if(out, [&](const SeenRequest& each) { return each.method != method; });
    return out;
  }
  int connections() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void note(const SeenRequest& request) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(request);
  }

  void accept() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const std::lock_guard lock(mutex_);
      if (fd < 0 || stopping_) {
        if (fd >= 0) ::close(fd);
        return;
      }
      const int number = ++last_;
      open_[number] = fd;
      threads_.emplace_back([this, fd, number] {
        Peer peer(*this, fd, number);
        script_(peer);
        const std::lock_guard done(mutex_);
        open_.erase(number);
        ::close(fd);
      });
    }
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  int last_ = 0;
  std::map<int, int> open_;
  std::vector<SeenRequest> seen_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace godwit::test
