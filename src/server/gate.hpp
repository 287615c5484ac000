// Gate: where every message of a client enters. It finds the era of the message, the operation, and
// who answers it.
#pragma once

#include "godwit/base/export.hpp"
#include "godwit/rpc/handler.hpp"
#include "mcp/era/eras.hpp"

namespace godwit::inline v0::detail::server {

class GODWIT_API Gate final : public rpc::detail::Handler {
 public:
  /// `eras` are spoken here, and must outlive it.
  explicit Gate(const mcp::Eras& eras = mcp::Eras::built_in()) : eras_(eras) {}
  void invoke(rpc::detail::Call& call) const override;
  /// While it looks for the names it knows, once.
  bool looks_for_twins() const override { return true; }
  rpc::detail::Subject subject(json::View params) const override;

 private:
  const mcp::Eras& eras_;
};

}  // namespace godwit::inline v0::detail::server
