// AccessPolicy: who may see and use what. One function decides for lists and for calls, so a caller
// never sees what it may not use, nor uses what it does not see.
//
//   server.restrict({.decide = [](const godwit::AccessQuestion& ask) -> godwit::Result<void> {
//     const auto* caller = ask.identity();
//     if (ask.name.starts_with("admin_") && !(caller && caller->may("admin"))) return forbidden();
//     return {};
//   }});
//
// Threads: connections ask on their own threads, several at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "godwit/base/result.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/facts.hpp"

namespace godwit::inline v0 {

enum class OfferKind : std::uint8_t { tool, prompt, resource, resource_template };

/// May this caller see and use this? The views are good during the call.
struct AccessQuestion {
  OfferKind kind{};
  /// Of a tool or prompt; the uri of a resource; the text of a template.
  std::string_view name{};
  /// What is read by the template; empty while it is listed.
  std::string_view uri{};
  /// The _meta that it was offered with; nullptr if there is none, or not known before the call.
  const json::Object* meta = nullptr;
  const rpc::Facts& facts;

  const rpc::Identity* identity() const noexcept { return facts.identity.get(); }
};

struct AccessPolicy {
  /// No error: yes. It is asked about every entry of a list, so it must be quick.
  std::function<Result<void>(const AccessQuestion&)> decide{};
  /// Something refused is answered as if it did not exist. Otherwise with the error of `decide`;
  /// lists do not show it either way.
  bool hide = true;
};

}  // namespace godwit::inline v0
