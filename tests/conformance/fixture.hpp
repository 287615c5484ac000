// What the official conformance suite wants to find in a server, by kind. Names, texts and keys are
// those that the suite prescribes.
#pragma once

#include <godwit/server/server.hpp>

namespace conformance {

/// Tools that answer by themselves. The first of them is the first in the list.
void add_tools(godwit::Server& server);
/// Tools that ask a client of the stateful revisions.
void add_asking_tools(godwit::Server& server);
/// Tools that need input, as the stateless revision has it.
void add_input_tools(godwit::Server& server);
void add_resources(godwit::Server& server);
void add_prompts(godwit::Server& server);

/// One red dot, in base64.
inline constexpr const char* dot_png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSu"
    "QmCC";
/// A millisecond of silence, in base64.
inline constexpr const char* silence_wav =
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

}  // namespace conformance
