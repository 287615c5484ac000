// What a UriTemplate is parsed into: parts for expanding, nodes for matching. Immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "godwit/mcp/uri_template.hpp"
#include "mcp/uri_units.hpp"

namespace godwit::inline v0 {
namespace uri {

inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// What an operator does: the table of RFC 6570, appendix A.
struct Operator {
  char name = '\0';
  char first = '\0';
  char separator = ',';
  bool named = false;
  /// After the name of an empty value.
  bool equals_if_empty = false;
  bool reserved = false;
};

struct Variable {
  /// Index into Program::names.
  std::size_t name = 0;
  /// Numbers the uses in the whole template.
  std::size_t use = 0;
  std::size_t max = unlimited;
  bool explode = false;
};

/// A literal, or an expression if it has variables.
struct Part {
  std::string literal{};
  Operator op{};
  std::vector<Variable> variables{};
};

/// A step of matching. Each is followed by the next one in the list.
struct Node {
  enum class Kind : std::uint8_t {
    literal,   // `text`
    run,       // `min` to variable.max characters
    segments,  // one or more runs with `separator` between
    named,     // nothing, or `first` and parameters with `separator` between
    skip,      // the nodes before `target`, or none of them
  };
  struct Parameter {
    std::vector<Unit> name{};
    Variable variable{};
  };

  Kind kind = Kind::literal;
  std::vector<Unit> text{};
  Variable variable{};
  std::size_t min = 1;
  bool reserved = false;
  Unit first = 0;
  Unit separator = 0;
  /// A parameter of an empty value may be its name alone.
  bool bare_names = false;
  std::vector<Parameter> parameters{};
  std::size_t target = 0;
};

}  // namespace uri

struct UriTemplate::Program {
  std::string text{};
  std::vector<std::string> names{};
  std::vector<uri::Part> parts{};
  std::vector<uri::Node> nodes{};
};

}  // namespace godwit::inline v0
