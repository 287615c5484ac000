// SessionStore: keeps the state of sessions, so that a session can go on after its server was
// restarted, or at another server that has the same store. In memory and bounded:
// MemorySessionStore; docs/stores.md says how to write one.
//
// A session is had by one server at a time, its owner, which is named by EndpointOptions::name. The
// state is small JSON that means something to the server alone. It holds what the client said about
// itself and who it is, so keep it as you keep other data about people.
//
// Each operation ends with one call of its Done: inside the call or later, on any thread, with an
// error or without. What is thrown counts as an error of that operation. Whoever asked may be
// destroyed meanwhile. The views in the arguments are good during the call only.
//
// Threads: any. Calls for one session come in order; several may be under way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/base/done.hpp"
#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

/// Where a session is.
struct SessionPlace {
  enum class Kind : std::uint8_t {
    /// There is no such session (any more).
    unknown,
    /// The asker has had it all the time. With the state, for one that was restarted meanwhile.
    here,
    /// Another server has it: `where`.
    elsewhere,
    /// Nobody had it. From now on the asker has; with the state.
    restorable,
  };
  Kind kind = Kind::unknown;
  std::string where{};
  std::string state{};
};

class GODWIT_API SessionStore {
 public:
  virtual ~SessionStore();

  /// Keeps the state of a session, in place of what was kept of it before. A session that is new
  /// belongs to this owner. An error if another one has it, or nobody has: whoever has lost a
  /// session must not write to it any more.
  virtual void save(std::string_view id, std::string_view owner, std::string_view state,
                    Done<void> done) = 0;
  /// Asked about a session that the asker does not have in memory.
  virtual void find(std::string_view id, std::string_view asker, Done<SessionPlace> done) = 0;
  /// The owner does not have it in memory any more. It stays restorable. Nothing if another one has
  /// it.
  virtual void release(std::string_view id, std::string_view owner, Done<void> done) = 0;
  /// It is over. It need not be there.
  virtual void remove(std::string_view id, Done<void> done) = 0;
};

}  // namespace godwit::inline v0
