// BlockingEndpoint: an Endpoint for HTTP stacks that give every request a thread: a web framework
// that a program already has. handle() takes a request and gives the response.
//
// Owner: the program; the server outlives it, and every handle() returns before it is destroyed: a
// handler that destroys it ends the program with a message.
// Threads: any number may be in handle() at once. Whoever waits there drives the endpoint; plain
// handlers of one BlockingEndpoint run one at a time, those marked blocking() do not hold it up.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/response.hpp"
#include "godwit/mcp/service.hpp"
#include "godwit/web/endpoint.hpp"

namespace godwit::inline v0 {

class GODWIT_API BlockingEndpoint {
 public:
  /// Where the pieces of a stream go. False says that the client is gone.
  using Piece = std::function<bool(std::string_view piece)>;
  /// The head of a stream: status and fields, the Content-Type among them; no body.
  using Head = std::function<bool(const http::Response& head)>;

  /// `wake` and `deadline_moved` of the options are its own.
  explicit BlockingEndpoint(Service& service, EndpointOptions options = {});
  ~BlockingEndpoint();
  BlockingEndpoint(const BlockingEndpoint&) = delete;
  BlockingEndpoint& operator=(const BlockingEndpoint&) = delete;

  /// Answers with a whole response, after at most this long: then the request is given up and the
  /// answer is 504. What a handler says before its answer is in the body as events, with it.
  http::Response handle(const http::Request& request, Duration most = std::chrono::seconds(60));

  /// The same for stacks that can send a body in pieces, which streams without an end need. If the
  /// answer is whole it is returned; if it is a stream, `head` and `piece` are called on this
  /// thread until it ends, and what is returned is its head.
  http::Response handle(const http::Request& request, const Head& head, const Piece& piece);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
