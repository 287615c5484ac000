#include "godwit/mcp/error.hpp"

#include "godwit/json/writer.hpp"

namespace godwit::inline v0 {

Error not_found(std::string_view uri) {
  // Not more of it than tells people which one is meant: it is the client's, and it knows it.
  constexpr std::size_t most_shown = 1000;
  Error error{.code = mcp::code::not_found,
              .message = "Resource not found: " + std::string(uri.substr(0, most_shown)),
              .data = {},
              .cause = Cause::in_process};
  if (uri.size() <= most_shown) error.data = "{\"uri\":" + json::quote(uri) + "}";
  return error;
}

}  // namespace godwit::inline v0
