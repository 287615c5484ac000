#include "godwit/http/exchange.hpp"

namespace godwit::inline v0::http {

Exchange::~Exchange() = default;

void Exchange::answer(const Response& response) {
  std::string_view type;
  Fields more;
  for (const auto& [name, value] : response.fields) {
    if (same_name(name, "Content-Type")) {
      type = value;
    } else {
      more.add(name, value);
    }
  }
  respond(response.status, type, response.body, more);
}
Exchange::Owner::~Owner() = default;

}  // namespace godwit::inline v0::http
