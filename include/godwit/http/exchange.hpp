// Exchange: one HTTP request that is being answered. HttpServer gives one with every request; on
// another HTTP stack it is the few functions to write to serve the same handlers there.
//
// Owner: whoever runs the connection. It may be used until the answer is complete or on_gone() was
// called, and not after. Threads: the connection's.
#pragma once

#include <cstddef>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/response.hpp"

namespace godwit::inline v0::http {

class GODWIT_API Exchange {
 public:
  /// Who answers, if that takes longer than the call that brought the request.
  class GODWIT_API Owner {
   public:
    virtual ~Owner();
    /// The client went away before the answer was complete. The Exchange is over.
    virtual void on_gone() = 0;
    /// The client has taken what unsent() counted: there is room for more. Never called from inside
    /// a call to the Exchange. Whoever sends much sends it in pieces, one for each of these.
    virtual void on_drained() {}
  };

  virtual ~Exchange();

  /// Answers, whole. `type` is the Content-Type; an empty one says that there is no body.
  virtual void respond(int status, std::string_view type, std::string_view body,
                       const Fields& more = {}) = 0;
  /// The same with a Response, whose Content-Type is among its fields.
  void answer(const Response& response);

  /// Begins an answer that comes in pieces, sends a piece at once, ends it.
  virtual void begin(int status, std::string_view type, const Fields& more = {}) = 0;
  virtual void write(std::string_view piece) = 0;
  virtual void end() = 0;

  /// Ends the connection in the middle of an answer, so that nobody takes it for complete.
  virtual void abort() = 0;

  /// Bytes of the answer that the client has not taken yet. Once they are more than none, the owner
  /// is told by on_drained() when they are none again.
  virtual std::size_t unsent() const noexcept = 0;
  /// Must be set before the call that brought the request returns without an answer. It outlives
  /// the Exchange.
  virtual void set_owner(Owner* owner) noexcept = 0;
};

}  // namespace godwit::inline v0::http
