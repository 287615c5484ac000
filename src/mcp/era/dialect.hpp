// Dialect: what one revision of the protocol can say, as properties. Made in stateful.cpp and
// stateless.cpp, found by name in select.cpp; everybody else asks the properties and never for a
// revision.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "godwit/base/export.hpp"
#include "operation.hpp"

namespace godwit::inline v0::mcp {

struct Dialect {
  std::string_view revision;
  /// Counts from the oldest revision; for things kept per dialect.
  std::size_t index;
  /// Each message says all about its sender; nothing is agreed on beforehand.
  bool stateless;
  /// Several messages in one array.
  bool batches;
  /// Audio, annotations of tools, the completions capability, sentences in progress reports.
  bool audio;
  /// Titles, _meta on types, links to resources, structured results that are objects, forms.
  bool structured;
  /// Icons, urls to open, tools in sampling, several blocks in one sampling message; arguments that
  /// do not fit are the tool's answer.
  bool icons;
  /// Over HTTP: a stream begins with an event that says how to come back to it.
  bool priming;
  std::span<const Method> methods;

  /// The row of a method that this side may receive, or nullptr.
  GODWIT_API const Method* find(std::string_view method, Side receiver) const noexcept;
  /// What the operation is called; empty if this dialect has no word for it.
  GODWIT_API std::string_view name_of(Operation operation) const noexcept;
};

inline constexpr std::size_t dialect_count = 5;

/// Made by the two eras.
GODWIT_API std::span<const Dialect> stateful_dialects() noexcept;  // oldest first
GODWIT_API const Dialect& stateless_dialect() noexcept;

/// The dialect of a revision; nullptr if it is unknown.
GODWIT_API const Dialect* dialect_of(std::string_view revision) noexcept;
/// What a server answers to a client that wants this revision in a handshake.
GODWIT_API const Dialect& negotiate(std::string_view wanted) noexcept;
GODWIT_API const Dialect& newest_stateful() noexcept;

}  // namespace godwit::inline v0::mcp
