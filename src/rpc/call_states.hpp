// CallStates: the states of the middleware around one call. They stand on the stack with a plain
// call, and move with a call that leaves it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "godwit/rpc/router.hpp"

namespace godwit::inline v0::rpc::detail {

class CallStates {
 public:
  CallStates() noexcept {}  // the bytes stay as they are
  ~CallStates() {
    drop_open();
    while (passed_ > 0) drop_last();
  }
  CallStates(const CallStates&) = delete;
  CallStates& operator=(const CallStates&) = delete;

  /// Layers that let the call through: theirs are the states 0 to passed().
  std::size_t passed() const noexcept { return passed_; }
  bool empty() const noexcept { return passed_ == 0 && !open_; }

  /// Makes the state of a layer that is about to be asked, the one after those that passed.
  void* open(const Router& router) {
    const Router::Wrapped& next = router.layers()[passed_];
    layers_ = &router.layers();
    grow(router.layers().back().state_end);
    next.layer->make_state(at(next));
    open_ = true;
    open_index_ = passed_;
    return at(next);
  }
  /// The layer that was asked let the call through.
  void pass() noexcept {
    passed_ = open_index_ + 1;
    open_ = false;
  }
  /// It did not.
  void drop_open() noexcept {
    if (std::exchange(open_, false)) drop(open_index_);
  }

  const Layer& last_layer() const noexcept { return *(*layers_)[passed_ - 1].layer; }
  void* last_state() noexcept { return at((*layers_)[passed_ - 1]); }
  void drop_last() noexcept { drop(--passed_); }

  /// To one that is empty.
  void move_to(CallStates& other) noexcept {
    if (!layers_) return;
    other.layers_ = layers_;
    if (heap_) {
      other.heap_ = std::move(heap_);
      other.heap_bytes_ = std::exchange(heap_bytes_, 0);
    } else {
      for (std::size_t i = 0; i < passed_; ++i) move(i, other.bytes_);
      if (open_) move(open_index_, other.bytes_);
    }
    other.passed_ = std::exchange(passed_, 0);
    other.open_ = std::exchange(open_, false);
    other.open_index_ = open_index_;
  }

 private:
  void* at(const Router::Wrapped& layer) noexcept {
    return (heap_ ? heap_.get() : bytes_) + layer.state_begin;
  }
  void drop(std::size_t index) noexcept {
    const Router::Wrapped& layer = (*layers_)[index];
    layer.layer->drop_state(at(layer));
  }
  void move(std::size_t index, std::byte* to) noexcept {
    const Router::Wrapped& layer = (*layers_)[index];
    layer.layer->move_state(at(layer), to + layer.state_begin);
  }
  void grow(std::size_t bytes) {
    if (bytes <= (heap_ ? heap_bytes_ : sizeof bytes_)) return;
    std::unique_ptr<std::byte[]> room(new std::byte[bytes]);
    for (std::size_t i = 0; i < passed_; ++i) move(i, room.get());
    heap_ = std::move(room);
    heap_bytes_ = bytes;
  }

  const std::vector<Router::Wrapped>* layers_ = nullptr;
  std::unique_ptr<std::byte[]> heap_;
  std::size_t heap_bytes_ = 0;
  std::size_t passed_ = 0;
  std::size_t open_index_ = 0;
  bool open_ = false;
  alignas(std::max_align_t) std::byte bytes_[256];
};

}  // namespace godwit::inline v0::rpc::detail
