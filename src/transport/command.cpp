#include "godwit/transport/command.hpp"

#include <chrono>
#include <utility>

namespace godwit::inline v0 {

namespace {

/// What can still be in the pipe of a program that ended.
constexpr std::size_t last_words = 1u << 20;
/// A program that closes its stdout is usually about to exit; its status says more than the end of
/// a pipe. Calls that wait must not wait longer than this for it.
constexpr auto exit_patience = std::chrono::milliseconds(100);
/// How much of stderr an error message quotes.
constexpr std::size_t quoted = 2048;

/// Without an end of line, and without bytes that could play with a terminal.
std::string printable(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7f') c = '?';
  return text;
}

/// The last whole lines of at most `most` bytes.
std::string last_lines(std::string text, std::size_t most) {
  if (text.size() > most) {
    text.erase(0, text.size() - most);
    if (const std::size_t end = text.find('\n'); end != text.npos && end + 1 < text.size())
      text.erase(0, end + 1);
  }
  return printable(std::move(text));
}

/// The first whole lines of at most `most` bytes.
std::string first_lines(std::string text, std::size_t most) {
  if (text.size() > most) {
    text.resize(most);
    if (const std::size_t end = text.rfind('\n'); end != text.npos && end > 0) text.resize(end);
  }
  return printable(std::move(text));
}

}  // namespace

Result<std::unique_ptr<CommandTransport>> CommandTransport::spawn(Loop& loop,
                                                                  ProcessOptions options,
                                                                  Framing framing,
                                                                  const Limits& limits) {
  std::string name = options.argv.empty() ? std::string() : options.argv.front();
  auto process = Process::spawn(loop, std::move(options));
  if (!process) return process.error();
  return std::unique_ptr<CommandTransport>(
      new CommandTransport(loop, std::move(*process), std::move(name), framing, limits));
}

CommandTransport::CommandTransport(Loop& loop, Process process, std::string name, Framing framing,
                                   const Limits& limits)
    : StreamTransport(loop, process.take_output(), process.take_input(), framing, limits),
      process_(std::move(process)),
      name_(std::move(name)),
      patience_(loop) {
  process_.on_exit([this](ExitStatus) { on_exit(); });
}

CommandTransport::~CommandTransport() = default;

void CommandTransport::start(rpc::Receiver& receiver) {
  StreamTransport::start(receiver);
  if (process_.status()) on_exit();
}

void CommandTransport::on_exit() {
  if (!started()) return;  // nobody to tell yet
  if (ending_) return tell();
  // Its answers may still be in the pipe. The end of them leads to on_closing().
  input_stream().drain(last_words);
}

void CommandTransport::on_closing(Error reason) {
  ending_ = true;
  reason_ = std::move(reason);
  if (process_.status()) return tell();
  close_output();
  process_.stop();
  if (input_ended()) patience_.start(exit_patience, [this] { tell(); });
}

std::string CommandTransport::stderr_quote() const {
  const std::string words = first_lines(process_.stderr_tail(), quoted);
  return words.empty() ? words : "; its stderr says: " + words;
}

void CommandTransport::tell() {
  patience_.cancel();
  Error reason = reason_;
  reason.message = "program \"" + name_ + "\" ";
  if (const auto& status = process_.status()) {
    reason.message += status->text();
  } else {
    reason.message += "closed its output and is being stopped";
  }
  if (!input_ended()) reason.message += " (" + reason_.message + ")";
  const std::string words = last_lines(process_.stderr_tail(), quoted);
  if (!words.empty()) reason.message += "; the end of its stderr: " + words;
  tell_closed(reason);
}

}  // namespace godwit::inline v0
