// What the everything server offers, by kind.
#pragma once

#include <godwit/server/server.hpp>
#include <string_view>

namespace everything {

void add_tools(godwit::Server& server);
void add_asking_tools(godwit::Server& server);
void add_resources(godwit::Server& server);
void add_prompts(godwit::Server& server);

/// The smallest PNG: one transparent dot.
std::string_view dot_png();
/// Ten milliseconds of silence.
std::string_view silence_wav();

}  // namespace everything
