#include "godwit/transport/stdio.hpp"

#include <utility>

namespace godwit::inline v0 {

Result<std::unique_ptr<StdioTransport>> StdioTransport::open(Loop& loop, Framing framing,
                                                             const Limits& limits) {
  auto io = StandardIo::take(loop);
  if (!io) return io.error();
  return std::unique_ptr<StdioTransport>(new StdioTransport(loop, std::move(*io), framing, limits));
}

StdioTransport::StdioTransport(Loop& loop, StandardIo io, Framing framing, const Limits& limits)
    : StreamTransport(loop, std::move(io.input()), std::move(io.output()), framing, limits),
      io_(std::move(io)) {}

StdioTransport::~StdioTransport() = default;

}  // namespace godwit::inline v0
