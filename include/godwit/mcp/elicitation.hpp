// Elicitation: a server asks the person at the client. A form is a flat struct: its JSON Schema,
// reduced to what the protocol allows in forms, is what the client shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0 {

enum class ElicitAction : std::uint8_t { accept, decline, cancel };

/// The answer as the wire has it. Content comes only with an accepted form.
struct ElicitResult {
  ElicitAction action = ElicitAction::cancel;
  std::optional<json::Object> content{};

  bool operator==(const ElicitResult&) const = default;
};

/// What the client is asked: a form, or to open a url.
struct ElicitRequest {
  enum class Mode : std::uint8_t { form, url };
  Mode mode = Mode::form;
  std::string message{};
  /// Of a form.
  RawJson requestedSchema{};
  /// Of a url.
  std::string url{};
  /// Names a url request of the revisions that announce its completion; empty otherwise.
  std::string elicitationId{};

  bool operator==(const ElicitRequest&) const = default;
};

/// A person's answer. Accepted, declined and cancelled are values, not errors.
template <class T>
class Answer {
 public:
  Answer() = default;
  explicit Answer(ElicitAction action) : action_(action) {}
  explicit Answer(T value) : action_(ElicitAction::accept), value_(std::move(value)) {}

  bool accepted() const noexcept { return action_ == ElicitAction::accept; }
  bool declined() const noexcept { return action_ == ElicitAction::decline; }
  bool cancelled() const noexcept { return action_ == ElicitAction::cancel; }
  ElicitAction action() const noexcept { return action_; }

  /// What was filled in; only of an accepted answer. Throws std::bad_optional_access otherwise.
  const T& value() const& { return value_.value(); }
  T&& value() && { return std::move(value_).value(); }
  const T* operator->() const { return &value_.value(); }

 private:
  ElicitAction action_ = ElicitAction::cancel;
  std::optional<T> value_{};
};

}  // namespace godwit::inline v0
