// SessionLookup: requests for a session that is not in memory here, while the SessionStore is asked
// where it is.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "endpoint_impl.hpp"
#include "godwit/http/parked_request.hpp"
#include "godwit/mcp/session_store.hpp"
#include "store_call.hpp"

namespace godwit::inline v0::detail::web {

struct SessionLookup {
  SessionLookup(std::string id_, std::uint64_t number_, TimePoint deadline_)
      : id(std::move(id_)),
        number(number_),
        deadline(deadline_),
        ready(std::make_shared<ReadyPlace>(ReadyPlace{.conversation = number_})) {}

  const std::string id;
  const std::uint64_t number;
  const TimePoint deadline;
  const std::shared_ptr<ReadyPlace> ready;
  StoreCall<SessionPlace> call;
  /// All get what comes of it, in order.
  std::list<http::ParkedRequest> requests;
};

}  // namespace godwit::inline v0::detail::web
