// CommandTransport: the client side of stdio. Starts a program and speaks over its stdin and
// stdout.
//
// Owner and threads: as StreamTransport and Process; spawn on a thread that lives as long as the
// child. The Error of on_close() says how the program ended, with the last of its stderr. close()
// stops the program politely and on_close() follows its end; destroying the transport kills it at
// once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/process.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/transport/stream_transport.hpp"

namespace godwit::inline v0 {

class GODWIT_API CommandTransport final : public StreamTransport {
 public:
  static Result<std::unique_ptr<CommandTransport>> spawn(Loop& loop, ProcessOptions options,
                                                         Framing framing = Framing::newline,
                                                         const Limits& limits = {});
  ~CommandTransport() override;

  void start(rpc::Receiver& receiver) override;

  const Process& process() const noexcept { return process_; }

  /// `; its stderr says: …` for the end of a sentence about a program that still runs; empty if
  /// it wrote nothing there. Short, and without bytes that could play with a terminal.
  std::string stderr_quote() const;

 private:
  CommandTransport(Loop& loop, Process process, std::string name, Framing framing,
                   const Limits& limits);
  void on_closing(Error reason) override;
  void on_exit();
  void tell();

  Process process_;
  std::string name_;
  Timer patience_;
  Error reason_;
  bool ending_ = false;
};

}  // namespace godwit::inline v0
