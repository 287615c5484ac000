// Bridge: joins two transports. Every message of one goes out on the other, byte for byte, whatever
// it says: the transparent way to pass a conversation on, from stdio to HTTP for example. (But for
// line breaks between tokens, which are spaces afterwards: some carriers end a message with one.)
//
// Owner: whoever made it; it owns the transports. Threads: both transports are driven by one
// thread, which is that of the Bridge.
#pragma once

#include <memory>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0::rpc {

class GODWIT_API Bridge {
 public:
  /// Begins at once. What could not be taken from the wire on one side is answered there with an
  /// error; a request that its carrier cannot bring is answered with why.
  Bridge(std::unique_ptr<Transport> first, std::unique_ptr<Transport> second);
  /// Nobody is told.
  ~Bridge();
  Bridge(Bridge&&) noexcept;
  Bridge& operator=(Bridge&& other) noexcept;

  /// Called once, when both sides are closed, with the reason of the side that closed first. It may
  /// destroy the Bridge.
  void on_close(Function<void(const Error& reason)> done);
  /// Closes both sides. What is waiting is written, as far as they take it.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::inline v0::rpc
