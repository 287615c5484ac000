// Gate: where every message of a client enters. It finds the era of the message, the operation, and
// who answers it.
#pragma once

#include "godwit/rpc/handler.hpp"

namespace godwit::inline v0::detail::server {

class Gate final : public rpc::detail::Handler {
 public:
  void invoke(rpc::detail::Call& call) const override;
  /// While it looks for the names it knows, once.
  bool looks_for_twins() const override { return true; }
  rpc::detail::Subject subject(json::View params) const override;
};

}  // namespace godwit::inline v0::detail::server
