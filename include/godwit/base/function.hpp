// Function<R(Args...)>: a callable that is moved, never copied, so that handlers may own move-only
// things (a Reply, a file, a unique_ptr). Small callables live inside it: no heap for the usual
// lambda. Calling an empty one throws std::bad_function_call.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

template <class Signature>
class Function;

template <class R, class... Args>
class Function<R(Args...)> {
 public:
  Function() noexcept = default;
  Function(std::nullptr_t) noexcept {}

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Function> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  Function(F&& callable) {
    using Callable = std::decay_t<F>;
    using Given = std::remove_reference_t<F>;  // a function itself, unlike a pointer, is never null
    if constexpr (std::is_pointer_v<Given> || std::is_member_pointer_v<Given>) {
      if (callable == nullptr) return;
    }
    if constexpr (fits<Callable>) {
      ::new (static_cast<void*>(space_)) Callable(std::forward<F>(callable));
      vtable_ = &inside<Callable>;
    } else {
      ::new (static_cast<void*>(space_)) Callable*(new Callable(std::forward<F>(callable)));
      vtable_ = &outside<Callable>;
    }
  }

  Function(Function&& other) noexcept { take(other); }
  Function& operator=(Function&& other) noexcept {
    if (this != &other) {
      Function taken(std::move(other));  // `other` may live in the callable that goes now
      reset();
      take(taken);
    }
    return *this;
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function() { reset(); }

  explicit operator bool() const noexcept { return vtable_ != nullptr; }

  R operator()(Args... args) {
    if (!vtable_) throw std::bad_function_call();
    return vtable_->call(space_, std::forward<Args>(args)...);
  }

 private:
  static constexpr std::size_t space = 6 * sizeof(void*);

  struct Table {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  template <class F>
  static constexpr bool fits = sizeof(F) <= space && alignof(F) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<F>;

  // std::invoke_r comes with C++23: a Function<void()> also takes what returns something.
  template <class F>
  static R invoke_as_r(F& callable, Args&&... args) {
    if constexpr (std::is_void_v<R>) {
      static_cast<void>(std::invoke(callable, std::forward<Args>(args)...));
    } else {
      return std::invoke(callable, std::forward<Args>(args)...);
    }
  }

  template <class F>
  static constexpr Table inside{[](void* p, Args&&... args) -> R {
                                  return invoke_as_r(*static_cast<F*>(p),
                                                     std::forward<Args>(args)...);
                                },
                                [](void* from, void* to) noexcept {
                                  ::new (to) F(std::move(*static_cast<F*>(from)));
                                  static_cast<F*>(from)->~F();
                                },
                                [](void* p) noexcept { static_cast<F*>(p)->~F(); }};

  template <class F>
  static constexpr Table outside{
      [](void* p, Args&&... args) -> R {
        return invoke_as_r(**static_cast<F**>(p), std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* p) noexcept { delete *static_cast<F**>(p); }};

  void take(Function& other) noexcept {
    if (!other.vtable_) return;
    other.vtable_->move(other.space_, space_);
    vtable_ = std::exchange(other.vtable_, nullptr);
  }
  void reset() noexcept {
    if (vtable_) std::exchange(vtable_, nullptr)->destroy(space_);
  }

  const Table* vtable_ = nullptr;
  alignas(std::max_align_t) std::byte space_[space];
};

}  // namespace godwit::inline v0
