// What a call costs a client over HTTP in processor time, of all its threads: Client, beside a
// client written by hand that does the least that is right. Both talk to one WebServer, whose
// threads are not counted. Compare the two with each other, within one run.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <simdjson.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <godwit/godwit.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace {

struct Echo {
  std::string message{};
};
struct Echoed {
  std::string text{};
};

/// The server, on a thread of its own.
class Host {
 public:
  Host() {
    server_.tool("echo", "Gives the message back", [](Echo in) { return Echoed{in.message}; });
    std::promise<void> ready;
    thread_ = std::thread([&] {
      const godwit::Loop::Work work(loop_);
      web_ = std::make_unique<godwit::WebServer>(
          godwit::WebServer::listen(loop_, server_, {"127.0.0.1", 0}, {}).value());
      ready.set_value();
      loop_.run();
      web_.reset();
    });
    ready.get_future().wait();
  }
  ~Host() {
    loop_.stop();
    thread_.join();
  }
  const std::string& url() const { return web_->url(); }
  const std::string& address() const { return web_->address(); }

 private:
  godwit::Server server_{
      {.name = "echo", .version = "1", .sealer = std::make_shared<godwit::AesSealer>()}};
  godwit::Loop loop_;
  std::unique_ptr<godwit::WebServer> web_;
  std::thread thread_;
};

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

clockid_t clock_of_this_thread() {
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  return clock;
}

/// Writes a request, reads the answer, checks its id and takes the text out of it.
class ByHand {
 public:
  explicit ByHand(const std::string& address) : host_(address) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + 10)));
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::abort();
  }
  ~ByHand() { ::close(fd_); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  std::string call(std::string_view message) {
    const std::string id = std::to_string(++last_id_);
    std::string body = R"({"jsonrpc":"2.0","id":)" + id +
                       R"(,"method":"tools/call","params":{"name":"echo","arguments":{"message":")";
    body += message;  // which needs no escaping here
    body += R"("},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientInfo":{"name":"hand","version":"1"},)"
            R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
    std::string out = "POST /mcp HTTP/1.1\r\nHost: " + host_ +
                      "\r\nContent-Type: application/json\r\n"
                      "Accept: application/json, text/event-stream\r\n"
                      "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                      "Mcp-Name: echo\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body;
    if (::send(fd_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size())) {
      std::abort();
    }
    in_.clear();
    std::size_t head = 0;
    while ((head = in_.find("\r\n\r\n")) == in_.npos) read();
    head += 4;
    const std::size_t field = in_.find("Content-Length: ");
    const std::size_t length = std::strtoul(in_.c_str() + field + 16, nullptr, 10);
    while (in_.size() < head + length) read();
    in_.reserve(in_.size() + simdjson::SIMDJSON_PADDING);
    simdjson::dom::element root;
    if (parser_.parse(in_.data() + head, length, false).get(root) != simdjson::SUCCESS ||
        root["id"].get_int64().value() != last_id_) {
      std::abort();
    }
    return std::string(root["result"]["structuredContent"]["text"].get_string().value());
  }

 private:
  void read() {
    char bytes[16384];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) std::abort();
    in_.append(bytes, static_cast<std::size_t>(got));
  }

  std::string host_;
  int fd_ = -1;
  std::int64_t last_id_ = 0;
  std::string in_;
  simdjson::dom::parser parser_;
};

void least_right_client(benchmark::State& state) {
  Host host;
  ByHand client(host.address());
  const std::string message(static_cast<std::size_t>(state.range(0)), 'x');
  const clockid_t mine = clock_of_this_thread();
  for (auto _ : state) {
    const double before = seconds_of(mine);
    if (client.call(message) != message) state.SkipWithError("wrong answer");
    state.SetIterationTime(seconds_of(mine) - before);
  }
}

void godwit_client(benchmark::State& state, godwit::Lifecycle lifecycle) {
  Host host;
  godwit::ClientOptions options;
  options.lifecycle = lifecycle;
  auto client = godwit::Client::connect(host.url(), options);
  const Echo in{std::string(static_cast<std::size_t>(state.range(0)), 'x')};
  std::promise<clockid_t> theirs;
  client->with_session(
      [&](godwit::Result<godwit::ClientSession*>) { theirs.set_value(clock_of_this_thread()); });
  const clockid_t other = theirs.get_future().get();
  const clockid_t mine = clock_of_this_thread();
  for (auto _ : state) {
    const double before = seconds_of(mine) + seconds_of(other);
    const auto out = client->call<Echoed>("echo", in);
    if (!out || out->text != in.message) state.SkipWithError("wrong answer");
    state.SetIterationTime(seconds_of(mine) + seconds_of(other) - before);
  }
}

BENCHMARK(least_right_client)->Arg(100)->Arg(10'000)->UseManualTime();
BENCHMARK_CAPTURE(godwit_client, stateful, godwit::Lifecycle::stateful)
    ->Arg(100)
    ->Arg(10'000)
    ->UseManualTime();
BENCHMARK_CAPTURE(godwit_client, stateless, godwit::Lifecycle::stateless)
    ->Arg(100)
    ->Arg(10'000)
    ->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
