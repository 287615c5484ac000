#include "godwit/io/standard_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <utility>

#include "io/system.hpp"

namespace godwit::inline v0 {

namespace {

std::atomic<bool> taken{false};

}  // namespace

StandardIo::StandardIo(Stream input, Stream output, Descriptor old_input,
                       Descriptor old_output) noexcept
    : input_(std::move(input)),
      output_(std::move(output)),
      old_input_(std::move(old_input)),
      old_output_(std::move(old_output)) {}
StandardIo::StandardIo(StandardIo&&) noexcept = default;
StandardIo& StandardIo::operator=(StandardIo&& other) noexcept {
  if (this != &other) {
    put_back();
    input_ = std::move(other.input_);
    output_ = std::move(other.output_);
    old_input_ = std::move(other.old_input_);
    old_output_ = std::move(other.old_output_);
  }
  return *this;
}
StandardIo::~StandardIo() { put_back(); }

Result<StandardIo> StandardIo::take(Loop& loop) {
  if (taken.exchange(true))
    return error("stdin and stdout are in use by another stdio transport of this process");
  const auto refuse = [](Error why) {
    taken = false;
    return why;
  };
  Descriptor old_input = detail::io::duplicate(STDIN_FILENO);
  if (!old_input) return refuse(detail::io::system_error("stdin cannot be used", errno));
  Descriptor old_output = detail::io::duplicate(STDOUT_FILENO);
  if (!old_output) return refuse(detail::io::system_error("stdout cannot be used", errno));

  auto input = Stream::open(loop, detail::io::duplicate(STDIN_FILENO), Stream::Sharing::inherited);
  if (!input) return refuse(std::move(input).error());
  auto output =
      Stream::open(loop, detail::io::duplicate(STDOUT_FILENO), Stream::Sharing::inherited);
  if (!output) return refuse(std::move(output).error());

  // What the program printed before belongs to the old stdout.
  std::cout.flush();
  std::fflush(stdout);
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return refuse(detail::io::system_error("/dev/null cannot be opened", errno));
  ::dup2(null.get(), STDIN_FILENO);
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) ::dup2(null.get(), STDOUT_FILENO);
  return StandardIo(std::move(*input), std::move(*output), std::move(old_input),
                    std::move(old_output));
}

void StandardIo::put_back() noexcept {
  if (!old_input_) return;
  // What was printed meanwhile must still go to stderr, also the part in the buffers.
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(old_input_.get(), STDIN_FILENO);
  ::dup2(old_output_.get(), STDOUT_FILENO);
  old_input_.reset();
  old_output_.reset();
  taken = false;
}

}  // namespace godwit::inline v0
