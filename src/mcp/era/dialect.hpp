// Dialect: what one revision of the protocol can say, as properties. Made in stateful.cpp and
// stateless.cpp, found by name in select.cpp; everybody else asks the properties and never for a
// revision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0::mcp {

/// What a message wants, whatever it is called on the wire.
enum class Operation : std::uint8_t {
  // Asked of a server.
  initialize,
  ping,
  discover,
  list_tools,
  call_tool,
  list_resources,
  list_templates,
  read_resource,
  subscribe,
  unsubscribe,
  list_prompts,
  get_prompt,
  complete,
  set_level,
  listen,
  // Told to a server.
  initialized,
  cancelled,
  progress,
  roots_changed,
  // Asked of a client.
  create_message,
  list_roots,
  elicit,
  // Told to a client.
  log_message,
  tools_changed,
  prompts_changed,
  resources_changed,
  resource_updated,
  elicitation_complete,
  acknowledged,
};

enum class Side : std::uint8_t { client, server, both };

/// One row of an era's table. A method that is not in the table does not exist in that era.
struct Method {
  std::string_view name;
  Operation operation;
  Side receiver;
  bool notification;
};

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
