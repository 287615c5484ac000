// ToolParamHeaders: which arguments of the listed tools travel in fields beside the message, too,
// as the client's side knows it. Bounded: a server decides how much there is to remember.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/view.hpp"
#include "godwit/rpc/transport.hpp"
#include "stateless_headers.hpp"

namespace godwit::inline v0::mcp {

class GODWIT_API ToolParamHeaders {
 public:
  void clear() noexcept;
  /// Learns from a page of tools. Those it names are known anew, the others stay.
  void learn(json::View tools);
  /// Adds the fields that a call of the tool with these arguments (JSON) has to carry.
  void add_fields(rpc::MessageFields& fields, const std::string& tool,
                  std::string_view arguments) const;
  /// The same for arguments that are parsed.
  void add_fields(rpc::MessageFields& fields, const std::string& tool, json::View arguments) const;

  /// Roughly, what it costs to remember them.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void forget(const std::string& tool);

  std::unordered_map<std::string, std::vector<ParamHeader>> tools_;
  std::size_t bytes_ = 0;
};

}  // namespace godwit::inline v0::mcp
