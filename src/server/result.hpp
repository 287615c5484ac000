// How results end: with what their dialect wants in every one of them.
#pragma once

#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"
#include "mcp/era/dialect.hpp"
#include "server_impl.hpp"

namespace godwit::inline v0::detail {

/// Writes the last members of a result and closes it. `meta` is a handler's own _meta; `cache` is
/// set for results that may be kept.
void write_result_end(json::Writer& writer, const mcp::Dialect& dialect, const Server::Impl& server,
                      const json::Object* meta, const CacheHint* cache);

}  // namespace godwit::inline v0::detail
