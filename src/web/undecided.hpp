// Undecided: a request that waits for a decision about its sender. Only on an HTTP stack that did
// not ask when it had the head: on HttpServer it is the connection that waits.
#pragma once

#include <cstdint>
#include <memory>

#include "endpoint_impl.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/parked_request.hpp"

namespace godwit::inline v0::detail::web {

struct Undecided {
  Undecided(Endpoint::Impl& endpoint, std::uint64_t number_, const http::Request& request,
            http::Exchange& exchange, TimePoint deadline_)
      : number(number_),
        deadline(deadline_),
        parked(request, exchange,
               [&endpoint, number_] {
                 const Endpoint::Impl::Entered entered(endpoint);
                 endpoint.unpark(number_);
               }),
        ready(std::make_shared<ReadyPlace>(ReadyPlace{.conversation = number_})) {}

  const std::uint64_t number;
  const TimePoint deadline;
  http::ParkedRequest parked;
  std::shared_ptr<ReadyPlace> ready;
  http::PendingDecision pending;
};

}  // namespace godwit::inline v0::detail::web
