// Lifetime: how code that calls out learns whether its own object was destroyed meanwhile.
//
// Callbacks of a program may destroy what called them. An object that goes on after such a call has
// a Lifetime among its members, and asks:
//
//   void Transport::deliver() {
//     const Lifetime::Watch watch(lifetime_);
//     receiver_->on_message(message);  // which may destroy this
//     if (watch.expired()) return;
//     …
//   }
//
// What runs later, if the object is still there then, keeps a Ref:
//
//   loop.post([self = Lifetime::Ref(lifetime_, *this)] {
//     if (Transport* const transport = self.get()) transport->settle();
//   });
//
// Cost: a pointer in the object. A Watch is two pointers on the stack and a few instructions;
// nothing is allocated or counted. It does not keep the object: where something must be used after
// the call although the owner has let go of it, a shared_ptr is the right thing.
//
// Owner: the object that it is a member of; the last member, since what is declared after it is
// destroyed while watches still say that the object is there. Threads: that of the object; only an
// expired Watch or Ref may be destroyed on another.
#pragma once

#include <utility>

namespace godwit::inline v0 {

class Lifetime {
 public:
  class Watch;
  template <class T>
  class Ref;

  Lifetime() noexcept = default;
  ~Lifetime();
  /// A copy is another object, which nobody watches yet; so is what an object is moved to. Those
  /// who watch the old one go on watching that.
  Lifetime(const Lifetime&) noexcept {}
  Lifetime& operator=(const Lifetime&) noexcept { return *this; }

 private:
  mutable Watch* first_ = nullptr;
};

/// Whether an object is still there. May be copied and moved, and outlive the object.
class Lifetime::Watch {
 public:
  explicit Watch(const Lifetime& of) noexcept { enter(&of.first_); }
  ~Watch() { leave(); }
  Watch(const Watch& other) noexcept { enter(other.place_); }
  /// The other one is expired afterwards.
  Watch(Watch&& other) noexcept {
    enter(other.place_);
    other.leave();
  }
  Watch& operator=(const Watch& other) noexcept {
    Watch copy(other);  // first: this may be the other one
    leave();
    enter(copy.place_);
    return *this;
  }
  Watch& operator=(Watch&& other) noexcept {
    Watch taken(std::move(other));
    leave();
    enter(taken.place_);
    return *this;
  }

  /// The object was destroyed.
  bool expired() const noexcept { return place_ == nullptr; }

 private:
  friend class Lifetime;

  // g++ sees the address of a local variable stored, and not that leave() takes it back.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
  /// Joins the list of those who watch an object, at this place; at none if there is no object.
  void enter(Watch** place) noexcept {
    place_ = place;
    if (!place) return;
    next_ = *place;
    if (next_) next_->place_ = &next_;
    *place = this;
  }
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic pop
#endif
  void leave() noexcept {
    if (!place_) return;
    *place_ = next_;
    if (next_) next_->place_ = place_;
    place_ = nullptr;
  }

  Watch** place_ = nullptr;  // the pointer that points to this
  Watch* next_ = nullptr;
};

inline Lifetime::~Lifetime() {
  for (Watch* watch = first_; watch; watch = watch->next_) watch->place_ = nullptr;
}

/// A pointer to an object that is null once the object was destroyed.
template <class T>
class Lifetime::Ref {
 public:
  /// `of` is the Lifetime of `object`.
  Ref(const Lifetime& of, T& object) noexcept : watch_(of), object_(&object) {}

  T* get() const noexcept { return watch_.expired() ? nullptr : object_; }

 private:
  Watch watch_;
  T* object_;
};

}  // namespace godwit::inline v0
