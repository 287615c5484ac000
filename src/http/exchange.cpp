#include "godwit/http/exchange.hpp"

namespace godwit::inline v0::http {

Exchange::~Exchange() = default;
Exchange::Owner::~Owner() = default;

}  // namespace godwit::inline v0::http
