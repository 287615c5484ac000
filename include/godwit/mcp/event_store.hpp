// EventStore: keeps the events of a stream, so that a client that lost its connection can come back
// for those it did not get. In memory and bounded by default; a shared store lets any process of a
// cluster serve the rest.
//
// Threads: any; calls for one stream come one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

class GODWIT_API EventStore {
 public:
  /// Gives false once it has enough.
  using Each = std::function<bool(std::uint64_t number, std::string_view data)>;

  virtual ~EventStore();

  /// Keeps an event. Streams have names nobody can guess; numbers rise by one within a stream.
  /// Called before the event is sent.
  virtual void append(std::string_view stream, std::uint64_t number, std::string_view data) = 0;
  /// Gives the events after this number, in order, until there is no more or it is enough. False if
  /// some of them are not there any more; those behind a gap are never given.
  virtual bool replay(std::string_view stream, std::uint64_t after, const Each& each) = 0;
  /// Nobody will come back to this stream.
  virtual void forget(std::string_view stream) = 0;
};

}  // namespace godwit::inline v0
