// Starting a program: everything between vfork and exec. Private to the io module.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "godwit/base/result.hpp"
#include "godwit/io/descriptor.hpp"

namespace godwit::inline v0::detail::io {

struct SpawnRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::string path;                      // where programs are looked for, from that environment
  std::string directory;
};

struct Spawned {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor input, output, error;  // our ends of the pipes
};

Result<Spawned> spawn(const SpawnRequest& request);

}  // namespace godwit::inline v0::detail::io
