// Returning: a client that comes back to a stream, while the store is asked what it lacks.
#pragma once

#include <string_view>
#include <utility>

#include "event_stream.hpp"

namespace godwit::inline v0::detail::web {

class EventStream::Returning final : private http::Exchange::Owner {
 public:
  /// Without an exchange nobody has come back yet.
  Returning(Endpoint::Impl& endpoint, http::Exchange* exchange, Return how_)
      : how(std::move(how_)),
        since(endpoint.clock->now()),
        endpoint_(endpoint),
        exchange_(exchange) {}
  ~Returning() override;
  Returning(const Returning&) = delete;
  Returning& operator=(const Returning&) = delete;

  /// It has to wait for the store. Until then the exchange is the caller's to answer.
  void wait() noexcept;
  bool waits() const noexcept { return waits_; }
  /// The exchange, which has no owner any more; null if the client is gone.
  http::Exchange* take() noexcept;
  /// Answers, if the client is there.
  void refuse(int status, std::string_view why) noexcept;

  Return how;
  StoreCall<EventPage> call;
  TimePoint since;

 private:
  void on_gone() override;

  Endpoint::Impl& endpoint_;
  http::Exchange* exchange_;
  bool waits_ = false;
};

}  // namespace godwit::inline v0::detail::web
