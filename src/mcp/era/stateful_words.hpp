// The model as a revision of the stateful era can say it.
#pragma once

#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/tool.hpp"
#include "stateful.hpp"

namespace godwit::inline v0::mcp::stateful {

Implementation fitted(Implementation value, const Traits& traits);
Annotations fitted(Annotations value, const Traits& traits);
Content fitted(Content value, const Traits& traits);
ResourceContents fitted(ResourceContents value, const Traits& traits);
Tool fitted(Tool value, const Traits& traits);
Resource fitted(Resource value, const Traits& traits);
ResourceTemplate fitted(ResourceTemplate value, const Traits& traits);
Prompt fitted(Prompt value, const Traits& traits);
ServerCapabilities fitted(ServerCapabilities value, const Traits& traits);
ClientCapabilities fitted(ClientCapabilities value, const Traits& traits);
SamplingRequest fitted(SamplingRequest value, const Traits& traits);
/// False if there is no way to say it without changing what it means.
bool can_say(const SamplingRequest& value, const Traits& traits);
bool can_say_form(const RawJson& schema, const Traits& traits);

}  // namespace godwit::inline v0::mcp::stateful
