// connect_http: plain JSON-RPC 2.0 over HTTP from the client's side. Each message or batch is one
// POST, and what the response holds is its answer.
//
// There is no connection to lose: a request that fails is answered with an error under its id (all
// ids of a batch), and the next one tries again. Up to `requests` are under way at once, so later
// messages may overtake earlier ones. A redirect 307 or 308 within the origin is followed; nothing
// else is sent twice.
//
// Owner: whoever speaks the protocol; it may be destroyed at any time, also inside a callback of
// its Receiver. Threads: the one that drives the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/http_client.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

struct RpcHttpClientOptions {
  /// More fields of each request, such as Authorization.
  http::Fields fields{};
  /// Connections, proxies, TLS.
  http::HttpClientOptions client{};
  /// Of them message_bytes_in for one answer, and eof_grace for the requests that are under way
  /// when it is closed.
  Limits limits{};
  Log log{};
  /// Requests under way at once; the others wait.
  std::size_t requests = 32;
  /// For one answer. A call has its own, shorter time as a rule; this ends a request nobody waits
  /// for any more.
  Duration answer_time = std::chrono::minutes(5);
};

/// Never fails: what is wrong with the address is the answer to the first call.
GODWIT_API std::unique_ptr<rpc::Transport> connect_http(Loop& loop, const http::Url& url,
                                                        const RpcHttpClientOptions& options = {});

}  // namespace godwit::inline v0
