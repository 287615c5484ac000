// Small helpers around system calls. Private to the io module.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "godwit/base/result.hpp"
#include "godwit/io/descriptor.hpp"

namespace godwit::inline v0::detail::io {

/// What the system calls this errno: "No such file or directory".
std::string text_of(int code);

/// An Error "<what>: <text of errno>".
Error system_error(std::string what, int code);

/// write(2) that never raises SIGPIPE, whatever its disposition, and leaves the disposition alone.
ssize_t write_quietly(int fd, const void* data, std::size_t size) noexcept;

/// Whether epoll accepts it; regular files and /dev/null are not accepted.
bool pollable(int fd) noexcept;

/// What every TCP connection gets: small messages leave at once (TCP_NODELAY), and the system takes
/// no more for a slow reader than it can soon send, so that one who reads slowly can be told from
/// one who does not read.
void set_tcp_options(int fd) noexcept;

/// The next descriptor of at least 3 for the same open file, close-on-exec.
Descriptor duplicate(int fd) noexcept;

}  // namespace godwit::inline v0::detail::io
