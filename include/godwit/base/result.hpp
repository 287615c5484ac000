// Result<T>: a T or an Error. std::expected is not there in C++20, and this one is the same type in
// every language mode. Reading the wrong side is never undefined: `*` ends the program with the
// message, value() throws BadResult.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// Thrown by Result::value() on a failed Result.
class GODWIT_API BadResult : public std::exception {
 public:
  explicit BadResult(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

namespace detail::base {
/// Prints the message to stderr and ends the program.
[[noreturn]] GODWIT_API void result_misuse(const Error* error) noexcept;
}  // namespace detail::base

template <class T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "godwit: Result<T&> is not offered; use Result<T*>");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Error>, "godwit: Result<Error> is ambiguous");

 public:
  using value_type = T;

  Result()
    requires std::is_default_constructible_v<T>
      : state_(std::in_place_index<0>) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Anything that converts to T, so that `return "text";` works in a Result<std::string>.
  template <class U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  bool has_value() const noexcept { return state_.index() == 0; }

  T& operator*() & { return checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
  T&& operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

  T& value() & { return thrown(); }
  const T& value() const& { return const_cast<Result*>(this)->thrown(); }
  T&& value() && { return std::move(thrown()); }

  template <class U>
  T value_or(U&& fallback) const& {
    return has_value() ? *std::get_if<0>(&state_) : static_cast<T>(std::forward<U>(fallback));
  }
  template <class U>
  T value_or(U&& fallback) && {
    return has_value() ? std::move(*std::get_if<0>(&state_))
                       : static_cast<T>(std::forward<U>(fallback));
  }

  /// The reason. Asking a good Result for it is a bug and ends the program.
  const Error& error() const& { return const_cast<Result*>(this)->reason(); }
  Error& error() & { return reason(); }
  Error&& error() && { return std::move(reason()); }

 private:
  T& checked() {
    if (T* value = std::get_if<0>(&state_)) return *value;
    detail::base::result_misuse(std::get_if<1>(&state_));
  }
  T& thrown() {
    if (T* value = std::get_if<0>(&state_)) return *value;
    throw BadResult(*std::get_if<1>(&state_));
  }
  Error& reason() {
    if (Error* error = std::get_if<1>(&state_)) return *error;
    detail::base::result_misuse(nullptr);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const noexcept { return !error_.has_value(); }
  bool has_value() const noexcept { return !error_.has_value(); }
  void operator*() const {
    if (error_) detail::base::result_misuse(&*error_);
  }
  void value() const {
    if (error_) throw BadResult(*error_);
  }
  const Error& error() const& {
    if (!error_) detail::base::result_misuse(nullptr);
    return *error_;
  }
  Error&& error() && {
    if (!error_) detail::base::result_misuse(nullptr);
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace godwit::inline v0
