// Waiting in tests: on a condition, with a deadline, never for a fixed time.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "godwit/io/loop.hpp"

namespace godwit::test {

/// Drives the loop until the condition holds; false if that takes longer than ten seconds.
template <class Condition>
bool run_until(Loop& loop, Condition condition,
               std::chrono::milliseconds most = std::chrono::seconds(10)) {
  const Loop::Work work(loop);
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    loop.run_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Open descriptors of this process.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// A folder of its own, removed afterwards with the files that were put there by name.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/godwit-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TemporaryFolder() {
    DIR* folder = ::opendir(path_.c_str());
    while (const dirent* entry = ::readdir(folder)) ::unlink((path_ + "/" + entry->d_name).c_str());
    ::closedir(folder);
    ::rmdir(path_.c_str());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace godwit::test
