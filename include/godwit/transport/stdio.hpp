// StdioTransport: the server side of stdio. Speaks over stdin and stdout of the process, which are
// moved out of the way of everything else first (see StandardIo): a stray printf goes to stderr.
//
// Owner and threads: as StreamTransport; one at a time per process. Destroying it puts stdin and
// stdout back.
#pragma once

#include <memory>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/standard_io.hpp"
#include "godwit/transport/stream_transport.hpp"

namespace godwit::inline v0 {

class GODWIT_API StdioTransport final : public StreamTransport {
 public:
  static Result<std::unique_ptr<StdioTransport>> open(Loop& loop,
                                                      Framing framing = Framing::newline,
                                                      const Limits& limits = {});
  ~StdioTransport() override;

 private:
  StdioTransport(Loop& loop, StandardIo io, Framing framing, const Limits& limits);

  StandardIo io_;
};

}  // namespace godwit::inline v0
