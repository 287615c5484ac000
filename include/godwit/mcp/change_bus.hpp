// ChangeBus: by which servers tell each other what has changed, so that each can tell its clients.
// A Server publishes every change here and hears of every change here, its own ones included. The
// default is a MemoryChangeBus of its own; servers that are given the same bus tell the clients of
// all. An implementation on a message broker covers several processes.
//
// Owner: the program and the servers that share it. Threads: any may call, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "godwit/base/done.hpp"
#include "godwit/base/export.hpp"
#include "godwit/rpc/identity.hpp"

namespace godwit::inline v0 {

/// What has changed. A plain value with a JSON form (json::encode), for those who carry it
/// elsewhere.
struct Change {
  enum class Kind : std::uint8_t { tools, prompts, resources, resource_updated };

  /// A list, or what one resource gives.
  Kind kind{};
  /// Of the resource.
  std::string uri{};
  /// Whose list it is, if it is that of one caller only.
  std::optional<rpc::Identity> caller{};
};

class GODWIT_API ChangeBus {
 public:
  /// Hears of changes, on any thread, several at once. Must not block; what it throws is dropped.
  using Listener = std::function<void(const Change&)>;
  /// Ends with its destruction. A call that is under way on another thread may still come to its
  /// end after that. May be destroyed anywhere, also inside the listener, and after the bus.
  class GODWIT_API Subscription {
   public:
    virtual ~Subscription();
  };

  virtual ~ChangeBus();

  /// Tells all listeners, inside the call or later. An error says that they may not hear of it.
  virtual void publish(Change change, Done<void> done) = 0;
  virtual std::unique_ptr<Subscription> subscribe(Listener listener) = 0;
};

}  // namespace godwit::inline v0
