// MemoryChangeBus: a ChangeBus within this process. Listeners are called inside publish(), on its
// thread, without a lock. Any thread.
#pragma once

#include <cstddef>
#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/mcp/change_bus.hpp"

namespace godwit::inline v0 {

class GODWIT_API MemoryChangeBus final : public ChangeBus {
 public:
  MemoryChangeBus();
  ~MemoryChangeBus() override;
  MemoryChangeBus(const MemoryChangeBus&) = delete;
  MemoryChangeBus& operator=(const MemoryChangeBus&) = delete;

  void publish(Change change, Done<void> done) override;
  std::unique_ptr<Subscription> subscribe(Listener listener) override;

  /// Subscriptions that have not ended.
  std::size_t listeners() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0
