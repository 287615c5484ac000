// InputRoom: memory for messages that have begun to come and have not ended, over all connections
// of one server. A single peer is bounded by Limits::message_bytes_in; many of them together are
// bounded here. Beyond the bound the message that began first gives way: its connection is closed.
//
// Owner: shared by a server and its transports. Threads: the one that drives their loop.
#pragma once

#include <cstddef>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

class GODWIT_API InputRoom {
 public:
  /// Whoever holds memory for a message. Leaves the room when it is destroyed.
  class GODWIT_API Guest {
   public:
    Guest() = default;
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;

   protected:
    virtual ~Guest();
    bool holds_room() const noexcept { return room_ != nullptr; }

   private:
    friend class InputRoom;
    /// The memory is needed. The guest has left the room already. May do anything, also destroy
    /// the guest.
    virtual void give_way() noexcept = 0;

    InputRoom* room_ = nullptr;  // while it holds something
    Guest* before_ = nullptr;
    Guest* after_ = nullptr;
    std::size_t bytes_ = 0;
  };

  explicit InputRoom(std::size_t most) noexcept : most_(most) {}
  ~InputRoom();
  InputRoom(const InputRoom&) = delete;
  InputRoom& operator=(const InputRoom&) = delete;

  /// The guest holds so many bytes now. Others may have to give way, or this one: afterwards it
  /// may be gone. The caller keeps the room alive meanwhile.
  void hold(Guest& guest, std::size_t bytes) noexcept;
  /// All bytes that are held.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void remove(Guest& guest) noexcept;

  const std::size_t most_;
  std::size_t bytes_ = 0;
  Guest* first_ = nullptr;  // the one that began first
  Guest* last_ = nullptr;
};

}  // namespace godwit::inline v0
