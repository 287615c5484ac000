// ParkedRequest: a request that cannot be answered yet, because something has to be found out
// first: a copy of it, and the exchange that waits for the answer.
//
// Owner: whoever finds it out. Threads: that of the exchange.
#pragma once

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/owned_request.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

class GODWIT_API ParkedRequest final : private Exchange::Owner {
 public:
  /// Becomes the owner of the exchange. `gone` is called if the client goes away before it is
  /// taken; it may destroy this.
  ParkedRequest(const Request& request, Exchange& exchange, Function<void()> gone);
  /// Ends the connection, unless the exchange was taken or its client is gone.
  ~ParkedRequest() override;
  ParkedRequest(const ParkedRequest&) = delete;
  ParkedRequest& operator=(const ParkedRequest&) = delete;

  OwnedRequest& request() noexcept { return request_; }
  /// The exchange, which has no owner any more. Null if the client is gone, or it was taken.
  Exchange* take() noexcept;

 private:
  void on_gone() override;

  OwnedRequest request_;
  Exchange* exchange_;
  Function<void()> gone_;
};

}  // namespace godwit::inline v0::http
