// Mux: several handlers on one port, told apart by the path of a request. It looks at Host and
// Origin once, before any of them is called.
//
//   http::Mux mux({.access = {.hosts = {"tools.example.com"}}});
//   mux.add("/mcp", endpoint);
//   mux.add("/status", page);
//   mux.add_below("/.well-known", documents);
//   auto server = http::HttpServer::tcp(loop, address, mux);
//
// Owner: the program. The handlers outlive it. Threads: one at a time; paths are added before the
// first request.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/access.hpp"
#include "godwit/http/http_server.hpp"

namespace godwit::inline v0::http {

struct MuxOptions {
  /// Who may call any of the handlers.
  Access access{};
  /// Makes the answer 403 to a request that may not, and why; a plain text if not given.
  std::function<Response(const Request&, const std::string& why)> forbidden{};
};

class GODWIT_API Mux final : public Handler {
 public:
  explicit Mux(MuxOptions options = {});
  Mux(const Mux&) = delete;
  Mux& operator=(const Mux&) = delete;

  /// Requests for this path, with or without a slash at the end. An error if it does not begin with
  /// a slash, or is taken.
  Result<void> add(std::string_view path, Handler& handler);
  /// The same for the path and everything below it: "/a" takes "/a", "/a/" and "/a/b", but not
  /// "/ab". A path that fits exactly comes first, then the longest one.
  Result<void> add_below(std::string_view path, Handler& handler);
  /// What no path takes; answered with 404 if there is nobody.
  void otherwise(Handler& handler) noexcept { otherwise_ = &handler; }

  /// May be changed until the first request: the port is known once it is listened on.
  Access& access() noexcept { return options_.access; }

  void on_request(const Request& request, Exchange& exchange) override;
  void on_head(const Request& head, Decision& decision) override;
  std::optional<Response> on_upgrade(const Request& request, Stream& stream,
                                     std::string_view rest) override;

 private:
  struct Route {
    std::string path;  // without a slash at the end
    bool below = false;
    Handler* handler = nullptr;
  };
  Result<void> add(std::string_view path, bool below, Handler& handler);
  Handler* find(const Request& request) const noexcept;
  std::optional<Response> refusal(const Request& request) const;

  MuxOptions options_;
  std::vector<Route> routes_;
  Handler* otherwise_ = nullptr;
};

}  // namespace godwit::inline v0::http
