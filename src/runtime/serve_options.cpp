#include "serve_options.hpp"

#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "godwit/io/address.hpp"

namespace godwit::inline v0::detail::runtime {

namespace {

using Options = ServeOptions;
using Place = ServeOptions::Place;

/// What must be served for an option to mean something.
enum class With : std::uint8_t { anything, network, web, http };

struct Option {
  std::string_view name;
  bool takes_value;
  With with;
  /// What is wrong with the value; empty if nothing.
  std::string (*apply)(Options& options, const std::string& value);
};

std::string set_place(Options& options, Place place, const std::string& target) {
  if (options.place == Place::help) return {};
  if (std::exchange(options.placed, true) && place != Place::help) {
    return "there can be only one place to serve";
  }
  options.place = place;
  options.target = target;
  return {};
}

std::string set_path(std::string& path, const std::string& value) {
  if (!value.starts_with('/')) return "a path begins with a slash";
  path = value;
  return {};
}

constexpr Option known[] = {
    {"--stdio", false, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::stdio, v); }},
    {"--tcp", true, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::tcp, v); }},
    {"--unix", true, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::unix_socket, v); }},
    {"--http", true, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::http, v); }},
    {"--ws", true, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::websocket, v); }},
    {"--help", false, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::help, v); }},
    {"-h", false, With::anything,
     [](Options& o, const std::string& v) { return set_place(o, Place::help, v); }},
    {"--path", true, With::web,
     [](Options& o, const std::string& v) { return set_path(o.path, v); }},
    {"--sse", true, With::http,
     [](Options& o, const std::string& v) { return set_path(o.sse_path, v); }},
    {"--websocket", true, With::http,
     [](Options& o, const std::string& v) { return set_path(o.websocket_path, v); }},
    {"--health", true, With::http,
     [](Options& o, const std::string& v) { return set_path(o.health_path, v); }},
    {"--metrics", true, With::http,
     [](Options& o, const std::string& v) { return set_path(o.metrics_path, v); }},
    {"--tls-cert", true, With::web,
     [](Options& o, const std::string& v) {
       o.certificate = v;
       return std::string();
     }},
    {"--tls-key", true, With::web,
     [](Options& o, const std::string& v) {
       o.key = v;
       return std::string();
     }},
    {"--allow-host", true, With::web,
     [](Options& o, const std::string& v) {
       o.hosts.push_back(v);
       return std::string();
     }},
    {"--allow-origin", true, With::web,
     [](Options& o, const std::string& v) -> std::string {
       if (v == "*") return "name each origin; every page of the web is not an answer";
       if (v.find("://") == v.npos) return "an origin looks like https://app.example.com";
       o.origins.push_back(v.ends_with('/') ? v.substr(0, v.size() - 1) : v);
       return {};
     }},
    {"--trusted-proxy", true, With::http,
     [](Options& o, const std::string& v) -> std::string {
       const auto network = IpNetwork::parse(v);
       if (!network) return "expected an address or a network: 127.0.0.1 or 10.0.0.0/8";
       o.proxies.push_back(*network);
       return {};
     }},
    {"--threads", true, With::http,
     [](Options& o, const std::string& v) -> std::string {
       const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), o.threads);
       const bool good = error == std::errc() && end == v.data() + v.size();
       return good && o.threads >= 1 && o.threads <= 256 ? "" : "expected a number from 1 to 256";
     }},
    {"--era", true, With::http,
     [](Options& o, const std::string& v) -> std::string {
       o.stateful = v == "both" || v == "stateful";
       o.stateless = v == "both" || v == "stateless";
       return o.stateful || o.stateless ? "" : "expected both, stateful or stateless";
     }},
    {"--expose", false, With::network,
     [](Options& o, const std::string&) {
       o.expose = true;
       return std::string();
     }},
};

bool fits(With with, Place place) noexcept {
  switch (with) {
    case With::http:
      return place == Place::http;
    case With::web:
      return place == Place::http || place == Place::websocket;
    case With::network:
      return place == Place::http || place == Place::websocket || place == Place::tcp;
    default:
      return true;
  }
}

std::string_view name_of(With with) noexcept {
  switch (with) {
    case With::http:
      return "--http";
    case With::web:
      return "--http or --ws";
    default:
      return "--http, --ws or --tcp";
  }
}

}  // namespace

std::string_view ServeOptions::usage() noexcept {
  return "  --stdio              speak over stdin and stdout (the default)\n"
         "  --tcp HOST:PORT      listen on a TCP socket\n"
         "  --unix PATH          listen on a unix socket\n"
         "  --http HOST:PORT     listen for HTTP\n"
         "  --ws HOST:PORT       listen for WebSocket (subprotocol mcp)\n"
         "  --help               show this\n"
         "With --http, --ws and --tcp:\n"
         "  --expose             listen beyond this machine although nobody has to log in\n"
         "With --http and --ws:\n"
         "  --path PATH          where the server is (/mcp)\n"
         "  --allow-host NAME    a name the server may be called by, besides localhost\n"
         "  --allow-origin URL   a web origin whose pages may call\n"
         "  --tls-cert FILE      speak TLS with this certificate (PEM); read again on SIGHUP\n"
         "  --tls-key FILE       its private key\n"
         "With --http:\n"
         "  --sse PATH           serve the transport of 2024 there, too\n"
         "  --websocket PATH     take WebSockets there, too (subprotocol mcp)\n"
         "  --trusted-proxy IP   believe what this address says in X-Forwarded-For\n"
         "  --threads N          serve on N threads (1)\n"
         "  --era ERA            clients to serve: both (the default), stateful or stateless\n"
         "  --health PATH        answer there whether the server is well\n"
         "  --metrics PATH       tell numbers there, as Prometheus reads them\n";
}

Result<ServeOptions> ServeOptions::parse(int argc, char** argv) {
  ServeOptions options;
  std::vector<const Option*> given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const Option* option = nullptr;
    for (const Option& each : known) {
      if (each.name == name) option = &each;
    }
    if (!option) return error("unknown option " + std::string(name));
    std::string value;
    if (option->takes_value) {
      if (i + 1 >= argc) return error(std::string(name) + " needs a value");
      value = argv[++i];
    }
    if (std::string problem = option->apply(options, value); !problem.empty()) {
      return error(std::string(name) + (value.empty() ? "" : " " + value) + ": " + problem);
    }
    given.push_back(option);
  }
  if (options.place == Place::help) return options;
  for (const Option* option : given) {
    if (fits(option->with, options.place)) continue;
    return error(std::string(option->name) + " means nothing without " +
                 std::string(name_of(option->with)));
  }
  if (options.certificate.empty() != options.key.empty()) {
    return error("--tls-cert and --tls-key belong together");
  }
  return options;
}

}  // namespace godwit::inline v0::detail::runtime
