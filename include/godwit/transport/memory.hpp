// A pair of transports joined in memory: what one side writes the other receives. For tests, and
// for a client and a server in one process.
//
// Owner: each side belongs to whoever speaks there, and each may be destroyed at any time; the
// other side is then closed. Threads: each side belongs to the thread that drives its loop; the two
// loops may be the same or run on different threads. Messages arrive from the loop, never inside a
// call; how many may be under way is not limited.
#pragma once

#include <memory>
#include <utility>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/rpc/transport.hpp"

namespace godwit::inline v0 {

using TransportPair = std::pair<std::unique_ptr<rpc::Transport>, std::unique_ptr<rpc::Transport>>;

/// Both on one loop. A message over Limits::message_bytes_in is refused as on any other transport.
GODWIT_API TransportPair memory_pair(Loop& loop, const Limits& limits = {});
/// Each on its own.
GODWIT_API TransportPair memory_pair(Loop& first, Loop& second, const Limits& limits = {});

}  // namespace godwit::inline v0
