// Operation: what a message wants, whatever an era calls it; and the rows of the tables in which
// the eras give them their names.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace godwit::inline v0::mcp
