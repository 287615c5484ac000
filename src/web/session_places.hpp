// SessionPlaces: which thread of this server has a session. Whoever gets a request asks, and has it
// brought there. What is not in memory there either is looked for in the SessionStore
// (session_lookup.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/http/exchange.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::detail::web {

class SessionPlaces {
 public:
  enum class Kind : std::uint8_t {
    /// If it is anywhere, it is here.
    here,
    /// At `place`, which only these SessionPlaces understand.
    elsewhere,
    /// Nobody has made such an id.
    unknown,
  };
  struct Where {
    Kind kind = Kind::unknown;
    std::uint64_t place = 0;
  };

  virtual ~SessionPlaces() = default;
  virtual Where find(std::string_view session) const = 0;
  /// Brings a copy of the request to the place, and its answer back. Whatever becomes of the place,
  /// the exchange is answered, or ended.
  virtual void deliver(std::uint64_t place, const http::Request& request,
                       http::Exchange& exchange) = 0;
};

/// What the ids of sessions begin with that are made by this thread, and nobody can guess the rest.
inline std::string session_prefix(std::size_t thread) {
  static constexpr char digits[] = "0123456789abcdef";
  return {digits[thread >> 4 & 15], digits[thread & 15]};
}

}  // namespace godwit::inline v0::detail::web
