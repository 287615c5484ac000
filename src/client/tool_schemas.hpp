// ToolSchemas: the output schemas of the tools that were listed last, each compiled when a result
// is checked against it for the first time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "godwit/base/log.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/json/view.hpp"
#include "godwit/mcp/tool.hpp"

namespace godwit::inline v0::detail::client {

class ToolSchemas {
 public:
  /// From one page; those of other pages stay. False if some are not kept, because names and
  /// schemas would have more than `most` bytes.
  bool add(const std::vector<Tool>& tools, std::size_t most);
  /// All that there are.
  bool replace(const std::vector<Tool>& tools, std::size_t most);

  /// Why the structured content (absent if there is none) is not what the tool promised.
  std::optional<std::string> complaint(const std::string& tool, json::View structured,
                                       const Log& log);

 private:
  struct Entry {
    std::string text;
    bool compiled = false;
    std::optional<json::Schema> schema{};  // nothing after a failed compilation
  };
  using Entries = std::unordered_map<std::string, Entry>;
  void drop(const std::string& tool);
  /// Gives what is to be said about the schema.
  static std::string compile(Entry& entry);
  static std::optional<std::string> check(const Entry& entry, json::View structured);

  Entries entries_;
  std::size_t bytes_ = 0;  // of names and texts
};

}  // namespace godwit::inline v0::detail::client
