#include "godwit/http/parked_request.hpp"

#include <utility>

namespace godwit::inline v0::http {

ParkedRequest::ParkedRequest(const Request& request, Exchange& exchange, Function<void()> gone)
    : request_(request), exchange_(&exchange), gone_(std::move(gone)) {
  exchange.set_owner(this);
}

ParkedRequest::~ParkedRequest() {
  if (Exchange* const exchange = take()) exchange->abort();
}

Exchange* ParkedRequest::take() noexcept {
  if (exchange_) exchange_->set_owner(nullptr);
  return std::exchange(exchange_, nullptr);
}

void ParkedRequest::on_gone() {
  exchange_ = nullptr;
  if (auto gone = std::exchange(gone_, nullptr)) gone();  // which may destroy this
}

}  // namespace godwit::inline v0::http
