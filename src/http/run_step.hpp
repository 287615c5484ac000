// run_step: a step of something that is under way and has one outcome, such as a request or a
// handshake.
#pragma once

#include <new>
#include <utility>

#include "godwit/base/error.hpp"

namespace godwit::inline v0::http {

/// Runs a step from the loop. Without the memory for it, that is the outcome. `under_way` is held
/// by shared_ptr and stays during the step, since whoever is told the outcome may let go of it; it
/// has is_over() and fail(Error).
template <class UnderWay, class Step>
void run_step(UnderWay& under_way, Step&& step) {
  const auto self = under_way.shared_from_this();
  try {
    step();
  } catch (const std::bad_alloc&) {
    if (under_way.is_over()) throw;  // by whoever was told the outcome
    under_way.fail(out_of_memory());
  }
}

}  // namespace godwit::inline v0::http
