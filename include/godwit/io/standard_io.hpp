// StandardIo: takes stdin and stdout of the process for a protocol and leaves harmless stand-ins:
// what is read from fd 0 meanwhile is empty (/dev/null), what is printed to fd 1 goes to stderr. So
// neither a stray printf nor a child of the program can touch the wire.
//
// Owner: the program; one at a time per process. Destroying it flushes stdio and puts the
// descriptors back. Threads: make and destroy it on one thread; other threads may print at any
// time.
#pragma once

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/descriptor.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"

namespace godwit::inline v0 {

class GODWIT_API StandardIo {
 public:
  /// Fails if stdin or stdout is closed, or if they are taken already.
  static Result<StandardIo> take(Loop& loop);

  ~StandardIo();
  StandardIo(StandardIo&&) noexcept;
  StandardIo& operator=(StandardIo&&) noexcept;

  /// What was stdin and stdout. Pipes, files, terminals and sockets all work, and the flags of the
  /// open files, which the parent shares, stay as they were. To be moved away by whoever speaks.
  Stream& input() noexcept { return input_; }
  Stream& output() noexcept { return output_; }

 private:
  StandardIo(Stream input, Stream output, Descriptor old_input, Descriptor old_output) noexcept;
  void put_back() noexcept;

  Stream input_, output_;
  Descriptor old_input_, old_output_;
};

}  // namespace godwit::inline v0
