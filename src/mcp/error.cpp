#include "godwit/mcp/error.hpp"

#include "godwit/json/writer.hpp"

namespace godwit::inline v0 {

Error not_found(std::string_view uri) {
  return Error{.code = mcp::code::not_found,
               .message = "Resource not found: " + std::string(uri.substr(0, 1000)),
               .data = "{\"uri\":" + json::quote(uri) + "}"};
}

}  // namespace godwit::inline v0
