// What an HTTP request says about its sender, for the messages in it.
#pragma once

#include "godwit/http/admission.hpp"
#include "godwit/http/request.hpp"
#include "godwit/rpc/facts.hpp"

namespace godwit::inline v0 {

/// Views into the request. Who sent it is what was found out when it was let in.
inline rpc::Facts facts_of(const http::Request& request) {
  return {.identity = request.admitted ? request.admitted->identity : nullptr,
          .fields = rpc::HeaderFields(request.fields.all()),
          .peer = request.peer,
          .local = request.local,
          .secure = request.secure,
          .certificate = request.certificate};
}

}  // namespace godwit::inline v0
