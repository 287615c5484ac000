// The model in the words of one dialect: what an older revision has no word for is left out, or
// said in another way. Nothing here looks at revisions, only at what a Dialect can say.
#pragma once

#include <string>
#include <string_view>

#include "era/codec.hpp"
#include "era/dialect.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/tool.hpp"

namespace godwit::inline v0::mcp {

/// The value as this dialect can say it.
GODWIT_API Implementation fitted(Implementation value, const Dialect& dialect);
GODWIT_API Annotations fitted(Annotations value, const Dialect& dialect);
/// Audio becomes an embedded resource and a link becomes text where they do not exist.
GODWIT_API Content fitted(Content value, const Dialect& dialect);
GODWIT_API ResourceContents fitted(ResourceContents value, const Dialect& dialect);
GODWIT_API Tool fitted(Tool value, const Dialect& dialect);
GODWIT_API Resource fitted(Resource value, const Dialect& dialect);
GODWIT_API ResourceTemplate fitted(ResourceTemplate value, const Dialect& dialect);
GODWIT_API Prompt fitted(Prompt value, const Dialect& dialect);
GODWIT_API ServerCapabilities fitted(ServerCapabilities value, const Dialect& dialect);
GODWIT_API ClientCapabilities fitted(ClientCapabilities value, const Dialect& dialect);
GODWIT_API SamplingRequest fitted(SamplingRequest value, const Dialect& dialect);
/// False if there is no way to say it in this dialect without changing what it means.
GODWIT_API bool can_say(const SamplingRequest& value, const Dialect& dialect);
GODWIT_API bool can_say_form(const RawJson& schema, const Dialect& dialect);

inline void write_implementation(json::Writer& writer, const Implementation& value,
                                 const Dialect& dialect) {
  json::write(writer, fitted(value, dialect));
}

GODWIT_API void write_contents(json::Writer& writer, const std::vector<Content>& contents,
                               const Dialect& dialect);

}  // namespace godwit::inline v0::mcp
