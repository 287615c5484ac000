#include "godwit/rpc/handler.hpp"

namespace godwit::inline v0::rpc::detail {

Call::~Call() = default;
Handler::~Handler() = default;
InFlight::~InFlight() = default;

Error params_error(const json::DecodeFailure& failure) {
  Error error = invalid_params(failure.text());
  error.data = failure.to_error().data;
  return error;
}

}  // namespace godwit::inline v0::rpc::detail
