// Finds and reads the public test suites. GODWIT_TEST_DATA names the folder that holds them (ctest
// sets it); where it is absent the tests that read it say so and skip.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace godwit::test {

/// The file or folder of this name in the test data, or nothing if it is not there.
inline std::optional<std::filesystem::path> test_data(std::string_view name) {
  const char* const root = std::getenv("GODWIT_TEST_DATA");
  if (!root || !*root) return std::nullopt;
  std::filesystem::path path = std::filesystem::path(root) / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

/// All bytes of a file. Throws if it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace godwit::test
