#include "godwit/transport/input_room.hpp"

#include <utility>

namespace godwit::inline v0 {

InputRoom::Guest::~Guest() {
  if (room_) room_->remove(*this);
}

InputRoom::~InputRoom() {
  while (first_) remove(*first_);
}

void InputRoom::hold(Guest& guest, std::size_t bytes) noexcept {
  if (bytes == 0) {
    if (guest.room_ == this) remove(guest);
    return;
  }
  if (guest.room_ != this) {
    if (guest.room_) guest.room_->remove(guest);
    guest.room_ = this;
    guest.before_ = last_;
    (last_ ? last_->after_ : first_) = &guest;
    last_ = &guest;
  }
  bytes_ = bytes_ - std::exchange(guest.bytes_, bytes) + bytes;
  while (bytes_ > most_) {
    Guest& oldest = *first_;
    remove(oldest);
    oldest.give_way();
  }
}

void InputRoom::remove(Guest& guest) noexcept {
  (guest.before_ ? guest.before_->after_ : first_) = guest.after_;
  (guest.after_ ? guest.after_->before_ : last_) = guest.before_;
  bytes_ -= std::exchange(guest.bytes_, 0);
  guest.before_ = guest.after_ = nullptr;
  guest.room_ = nullptr;
}

}  // namespace godwit::inline v0
