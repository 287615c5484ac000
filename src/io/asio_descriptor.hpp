// A descriptor that a Loop watches. Private to src/io.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "io/loop_core.hpp"

namespace godwit::inline v0::detail::io {

using AsioDescriptor = boost::asio::posix::basic_stream_descriptor<LoopExecutor>;

}  // namespace godwit::inline v0::detail::io
