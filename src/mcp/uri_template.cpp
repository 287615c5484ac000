#include "godwit/mcp/uri_template.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mcp/uri_template_program.hpp"

namespace godwit::inline v0 {

using uri::Node;
using uri::Operator;
using uri::Part;
using uri::Variable;

namespace {

constexpr Operator operators[] = {
    {.name = '+', .reserved = true},
    {.name = '#', .first = '#', .reserved = true},
    {.name = '.', .first = '.', .separator = '.'},
    {.name = '/', .first = '/', .separator = '/'},
    {.name = ';', .first = ';', .separator = ';', .named = true},
    {.name = '?', .first = '?', .separator = '&', .named = true, .equals_if_empty = true},
    {.name = '&', .first = '&', .separator = '&', .named = true, .equals_if_empty = true},
};

void append_triple(std::string& out, char byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  out += '%';
  out += digits[value >> 4];
  out += digits[value & 15];
}

/// As {var} wants it or, with `reserved`, as {+var} and literals do: reserved characters and
/// triples stay.
void append_encoded(std::string& out, std::string_view text, bool reserved) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool stays = uri::is_unreserved(c) || (reserved && uri::is_reserved(c)) ||
                       (reserved && c == '%' && uri::triple(text, i));
    if (stays) {
      out += c;
    } else {
      append_triple(out, c);
    }
  }
}

class Parser {
 public:
  Parser(std::string_view text, std::string& failure) : text_(text), failure_(failure) {}

  bool run(std::vector<Part>& parts, std::vector<std::string>& names) {
    while (at_ < text_.size()) {
      Part part;
      if (!(text_[at_] == '{' ? expression(part, names) : literal(part))) return false;
      parts.push_back(std::move(part));
    }
    return true;
  }

 private:
  bool fail(std::size_t offset, std::string_view what) {
    failure_ = "URI template: " + std::string(what) + " at byte " + std::to_string(offset);
    return false;
  }

  bool literal(Part& part) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '{') {
      const char c = text_[at_];
      if (c == '}') return fail(at_, "a '}' without its '{'");
      if (c == '%') {
        if (!uri::triple(text_, at_)) return fail(at_, "a '%' without two hexadecimal digits");
        at_ += 3;
        continue;
      }
      // RFC 6570, 2.1, whose grammar forgets the apostrophe: it is reserved, and so allowed.
      if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
          std::string_view("\"<>\\^`|").find(c) != std::string_view::npos) {
        return fail(at_, "a character that a URI cannot have (write it as %XX)");
      }
      const auto point = uri::code_point(text_.substr(at_));
      if (point.size == 0) return fail(at_, "text that is not UTF-8");
      at_ += point.size;
    }
    append_encoded(part.literal, text_.substr(begin, at_ - begin), true);
    return true;
  }

  bool expression(Part& part, std::vector<std::string>& names) {
    const std::size_t begin = at_++;
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return fail(begin, "a '{' without its '}'");
    if (at_ == end) return fail(begin, "an expression without a variable");
    const char c = text_[at_];
    for (const Operator& op : operators) {
      if (op.name == c) part.op = op;
    }
    if (part.op.name != '\0') {
      ++at_;
    } else if (std::string_view("=,!@|").find(c) != std::string_view::npos) {
      return fail(at_, "an operator that RFC 6570 keeps for later");
    }
    for (;;) {
      if (uses_ == UriTemplate::max_variables) {
        return fail(at_, "more than " + std::to_string(UriTemplate::max_variables) + " variables");
      }
      if (!variable(part, names)) return false;
      if (at_ == end) break;
      if (text_[at_] != ',') return fail(at_, "a character that no variable name has");
      ++at_;
    }
    ++at_;
    return true;
  }

  bool variable(Part& part, std::vector<std::string>& names) {
    const std::size_t begin = at_;
    for (;;) {
      const char c = peek();
      if (c == '%' && uri::triple(text_, at_)) {
        at_ += 3;
      } else if (uri::is_alpha(c) || uri::is_digit(c) || c == '_') {
        ++at_;
      } else if (c == '.' && at_ > begin && text_[at_ - 1] != '.') {
        ++at_;
      } else {
        break;
      }
    }
    if (at_ == begin) return fail(at_, "a variable name was expected");
    if (text_[at_ - 1] == '.') return fail(at_ - 1, "a variable name that ends with a dot");
    const std::string_view name = text_.substr(begin, at_ - begin);

    Variable variable{.use = uses_++};
    if (peek() == '*') {
      variable.explode = true;
      ++at_;
    } else if (peek() == ':' && !max_length(variable)) {
      return false;
    }
    const auto known = std::find(names.begin(), names.end(), name);
    variable.name = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.emplace_back(name);
    part.variables.push_back(variable);
    return true;
  }

  bool max_length(Variable& variable) {
    const std::size_t digits = ++at_;
    std::size_t max = 0;
    while (uri::is_digit(peek()) && at_ - digits < 5) {
      max = max * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    }
    if (at_ == digits || text_[digits] == '0' || max > 9999) {
      return fail(digits, "a length from 1 to 9999 was expected");
    }
    variable.max = max;
    return true;
  }

  char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::string& failure_;
  std::size_t at_ = 0;
  std::size_t uses_ = 0;
};

Node literal_node(std::string_view text) {
  Node node;
  node.text = uri::units(text).value();
  return node;
}

Node named_node(const Part& part, const std::vector<std::string>& names) {
  Node node;
  node.kind = Node::Kind::named;
  node.first = static_cast<uri::Unit>(part.op.first);
  node.separator = static_cast<uri::Unit>(part.op.separator);
  node.bare_names = !part.op.equals_if_empty;
  for (const Variable& variable : part.variables) {
    node.parameters.push_back({uri::units(names[variable.name]).value(), variable});
  }
  return node;
}

void append_nodes(std::vector<Node>& nodes, const Part& part,
                  const std::vector<std::string>& names) {
  if (part.variables.empty()) {
    nodes.push_back(literal_node(part.literal));
    return;
  }
  if (part.op.named) {
    nodes.push_back(named_node(part, names));
    return;
  }
  const std::size_t begin = nodes.size();
  if (part.op.first != '\0') {
    nodes.emplace_back().kind = Node::Kind::skip;
    nodes.push_back(literal_node({&part.op.first, 1}));
  }
  for (const Variable& variable : part.variables) {
    if (&variable != part.variables.data()) {
      nodes.push_back(literal_node({&part.op.separator, 1}));
    }
    Node node;
    node.kind = Node::Kind::run;
    node.variable = variable;
    node.reserved = part.op.reserved;
    node.min = part.op.name == '#' ? 0 : 1;
    node.separator = static_cast<uri::Unit>(part.op.separator);
    // Where the separator is one of the characters anyway, a run has the items in it.
    if (variable.explode && !node.reserved && !uri::is_simple(node.separator)) {
      node.kind = Node::Kind::segments;
    }
    nodes.push_back(std::move(node));
  }
  if (part.op.first != '\0') nodes[begin].target = nodes.size();
}

/// A value taken apart: one item for a scalar, pairs for an associative array.
struct Items {
  struct Item {
    std::string key{};
    std::string value{};
  };
  std::vector<Item> list{};
  bool scalar = false;
  bool pairs = false;
};

bool valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t size = uri::code_point(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

/// Adds a string, number or boolean; null is left out. False for anything else.
bool add_scalar(Items& items, std::string_view key, const json::Value& value) {
  if (value.is_null()) return true;
  if (value.is_array() || value.is_object()) return false;
  if (value.is_real() && !std::isfinite(*value.as_double())) return false;
  const auto text = value.as_string();
  if (!valid_utf8(key) || (text && !valid_utf8(*text))) return false;
  items.list.push_back({std::string(key), text ? std::string(*text) : value.dump()});
  return true;
}

bool take_apart(Items& items, const json::Value& value) {
  if (const json::Array* array = value.as_array()) {
    return std::all_of(array->begin(), array->end(),
                       [&](const json::Value& item) { return add_scalar(items, {}, item); });
  }
  if (const json::Object* object = value.as_object()) {
    items.pairs = true;
    return std::all_of(object->begin(), object->end(), [&](const json::Member& member) {
      return add_scalar(items, member.key, member.value);
    });
  }
  items.scalar = true;
  return add_scalar(items, {}, value);
}

/// The first `max` characters. A triple that will stay one counts as one and is not cut.
std::string_view prefix(std::string_view text, std::size_t max, bool reserved) {
  std::size_t at = 0;
  for (std::size_t count = 0; count < max && at < text.size(); ++count) {
    at += reserved && uri::triple(text, at) ? 3 : uri::code_point(text.substr(at)).size;
  }
  return text.substr(0, at);
}

void append_named(std::string& out, const Operator& op, std::string_view value) {
  if (!value.empty() || op.equals_if_empty) out += '=';
  append_encoded(out, value, op.reserved);
}

void append_exploded(std::string& out, const Operator& op, const std::string& name,
                     const Items& items) {
  for (const Items::Item& item : items.list) {
    if (&item != items.list.data()) out += op.separator;
    if (items.pairs) {
      append_encoded(out, item.key, op.reserved);
      // RFC 6570, 3.2.1: an empty value of a pair is written as that of a named variable.
      if (op.named) {
        append_named(out, op, item.value);
        continue;
      }
      out += '=';
    } else if (op.named) {
      out += name;
      append_named(out, op, item.value);
      continue;
    }
    append_encoded(out, item.value, op.reserved);
  }
}

void append_joined(std::string& out, const Operator& op, const std::string& name,
                   const Items& items) {
  if (op.named) out += name;
  // Only a scalar can be empty as a whole; lists without items are undefined.
  const bool empty = items.scalar && items.list[0].value.empty();
  if (op.named && (!empty || op.equals_if_empty)) out += '=';
  for (const Items::Item& item : items.list) {
    if (&item != items.list.data()) out += ',';
    if (items.pairs) {
      append_encoded(out, item.key, op.reserved);
      out += ',';
    }
    append_encoded(out, item.value, op.reserved);
  }
}

}  // namespace

UriTemplate::UriTemplate(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
UriTemplate::~UriTemplate() = default;

Result<UriTemplate> UriTemplate::parse(std::string_view text) {
  if (text.size() > max_template_bytes) {
    return error("URI template: longer than " + std::to_string(max_template_bytes) + " bytes");
  }
  auto program = std::make_shared<Program>();
  program->text = text;
  std::string failure;
  if (!Parser(text, failure).run(program->parts, program->names)) {
    return error(std::move(failure));
  }
  for (const Part& part : program->parts) append_nodes(program->nodes, part, program->names);
  return UriTemplate(std::move(program));
}

const std::string& UriTemplate::text() const noexcept { return program_->text; }
const std::vector<std::string>& UriTemplate::variables() const noexcept { return program_->names; }

Result<std::string> UriTemplate::expand(const json::Object& values) const {
  std::string out;
  for (const Part& part : program_->parts) {
    out += part.literal;
    bool first = true;
    for (const Variable& variable : part.variables) {
      const std::string& name = program_->names[variable.name];
      const json::Value* const value = values.find(name);
      if (!value) continue;
      Items items;
      if (!take_apart(items, *value)) {
        return error("URI template: the value of \"" + name +
                     "\" must be a string, a number, a boolean, or a list or an object of those, "
                     "in UTF-8");
      }
      if (items.list.empty()) continue;
      if (variable.max != uri::unlimited) {
        if (!items.scalar) {
          return error("URI template: \"" + name + "\" is cut to a length, so it must be a string");
        }
        std::string& text = items.list[0].value;
        text.resize(prefix(text, variable.max, part.op.reserved).size());
      }
      if (!first) {
        out += part.op.separator;
      } else if (part.op.first != '\0') {
        out += part.op.first;
      }
      first = false;
      if (variable.explode && !items.scalar) {
        append_exploded(out, part.op, name, items);
      } else {
        append_joined(out, part.op, name, items);
      }
    }
  }
  return out;
}

}  // namespace godwit::inline v0
