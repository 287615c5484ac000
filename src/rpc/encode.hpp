// Small pieces of wire text that message.cpp and peer.cpp both write.
#pragma once

#include <optional>

#include "godwit/base/error.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/rpc/rules.hpp"

namespace godwit::inline v0::rpc::detail {

/// {"code":…,"message":…,"data":…}
void write_error(json::Writer& writer, const Error& error);

/// Why an array is not a batch that may be processed.
std::optional<Error> batch_problem(json::View array, const Rules& rules, const Limits& limits);

}  // namespace godwit::inline v0::rpc::detail
