// Turns a schema and the documents it refers to into a SchemaProgram.
#pragma once

#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/schema.hpp"
#include "schema_program.hpp"

namespace godwit::inline v0::json::detail {

Result<std::shared_ptr<const SchemaProgram>> compile_schema(const Value& schema,
                                                            const SchemaOptions& options);

/// An error that names the nodes of a cycle of schemas that apply each other to the same instance
/// without end.
Result<void> refuse_loops(const SchemaProgram& program);

/// Lets nodes that are nothing but a $ref name what it leads to. There must be no loops.
void shorten_references(SchemaProgram& program);

}  // namespace godwit::inline v0::json::detail
