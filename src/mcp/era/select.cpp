// Revisions by name. The only file that compares revision strings.
#include <algorithm>
#include <array>

#include "dialect.hpp"
#include "godwit/mcp/revision.hpp"

namespace godwit::inline v0 {

std::span<const std::string_view> revisions() noexcept {
  static const auto names = [] {
    std::array<std::string_view, mcp::dialect_count> all;
    std::size_t at = all.size();
    for (const mcp::Dialect& dialect : mcp::stateful_dialects()) all[--at] = dialect.revision;
    all[0] = mcp::stateless_dialect().revision;
    return all;
  }();
  return names;
}

namespace mcp {

const Dialect* dialect_of(std::string_view revision) noexcept {
  if (stateless_dialect().revision == revision) return &stateless_dialect();
  for (const Dialect& dialect : stateful_dialects()) {
    if (dialect.revision == revision) return &dialect;
  }
  return nullptr;
}

const Dialect& newest_stateful() noexcept { return stateful_dialects().back(); }

const Dialect& negotiate(std::string_view wanted) noexcept {
  const Dialect* dialect = dialect_of(wanted);
  return dialect && !dialect->stateless ? *dialect : newest_stateful();
}

const Method* Dialect::find(std::string_view method, Side receiver) const noexcept {
  for (const Method& row : methods) {
    if (row.name == method && (row.receiver == receiver || row.receiver == Side::both)) return &row;
  }
  return nullptr;
}

std::string_view Dialect::name_of(Operation operation) const noexcept {
  for (const Method& row : methods) {
    if (row.operation == operation) return row.name;
  }
  return {};
}

}  // namespace mcp
}  // namespace godwit::inline v0
