// What the arguments of serve() say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/result.hpp"
#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::detail::runtime {

struct ServeOptions {
  enum class Place { stdio, tcp, unix_socket, http, websocket, help } place = Place::stdio;
  bool placed = false;  // it was said
  /// An address or a path.
  std::string target{};
  std::string path = "/mcp";
  std::string sse_path{};
  std::string websocket_path{};
  std::string health_path{};
  std::string metrics_path{};
  std::string certificate{};
  std::string key{};
  std::vector<std::string> hosts{};
  std::vector<IpNetwork> proxies{};
  std::vector<std::string> origins{};
  unsigned threads = 1;
  bool stateful = true;
  bool stateless = true;
  /// Listening beyond the own machine although anybody there could read and call.
  bool expose = false;

  static Result<ServeOptions> parse(int argc, char** argv);
  static std::string_view usage() noexcept;
};

}  // namespace godwit::inline v0::detail::runtime
