// OwnedRequest: a request that owns its bytes, for whoever needs it after the call that brought it:
// because it waits for something, or goes to another thread.
//
// Not moved and not copied: the request is views into it. Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/request.hpp"

namespace godwit::inline v0::http {

class GODWIT_API OwnedRequest {
 public:
  explicit OwnedRequest(const Request& request);
  OwnedRequest(const OwnedRequest&) = delete;
  OwnedRequest& operator=(const OwnedRequest&) = delete;

  /// As it was, with 64 spare bytes behind the body.
  const Request& view() const noexcept { return view_; }
  /// It was let in, or is the business of whoever gets it (passed).
  void set(Outcome outcome);
  /// Bytes of memory held.
  std::size_t size() const noexcept;

 private:
  std::string text_;  // of everything, with spare bytes at the end
  std::vector<Field> fields_;
  Admitted admitted_;
  Request view_;
};

}  // namespace godwit::inline v0::http
