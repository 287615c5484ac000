// What an HTTP request says about its sender, for the messages in it.
#pragma once

#include "godwit/http/request.hpp"
#include "godwit/rpc/facts.hpp"

namespace godwit::inline v0 {

/// Views into the request. Who sent it is for others to verify.
inline rpc::Facts facts_of(const http::Request& request) {
  return {.fields = rpc::HeaderFields(request.fields.all()),
          .peer = request.peer,
          .secure = request.secure,
          .certificate = request.certificate};
}

}  // namespace godwit::inline v0
