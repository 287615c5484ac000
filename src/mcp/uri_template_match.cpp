// Matching a URI against a template, without backtracking. First, from the last node to the first,
// one bit per node and place: can the rest of the template match the rest of the URI from here?
// Then one walk from the front, in which every node takes as much as those bits allow. Each node
// reads the URI a constant number of times in both directions.
#include <algorithm>
#include <utility>

#include "godwit/base/work.hpp"
#include "mcp/uri_template_program.hpp"

namespace godwit::inline v0 {
namespace uri {
namespace {

class Bits {
 public:
  Bits() = default;
  explicit Bits(std::size_t size) : words_(size / 64 + 1) {}
  void set(std::size_t i) noexcept { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  bool operator[](std::size_t i) const noexcept { return words_[i / 64] >> i % 64 & 1; }

 private:
  std::vector<std::uint64_t> words_;
};

/// What the uses of the variables took, by Variable::use.
class Taken {
 public:
  explicit Taken(std::size_t uses) : texts_(uses) {}

  /// Several values of one use are joined if it is a list, and otherwise no match.
  void add(const Variable& variable, std::string text) {
    auto& taken = texts_[variable.use];
    if (!taken) {
      taken = std::move(text);
    } else if (variable.explode) {
      *taken += ',';
      *taken += text;
    } else {
      twice_ = true;
    }
  }
  bool twice() const noexcept { return twice_; }
  const std::optional<std::string>& operator[](const Variable& variable) const noexcept {
    return texts_[variable.use];
  }

 private:
  std::vector<std::optional<std::string>> texts_;
  bool twice_ = false;
};

class Matcher {
 public:
  Matcher(const std::vector<Node>& nodes, std::vector<Unit> uri)
      : nodes_(nodes), uri_(std::move(uri)) {}

  /// False if it does not match.
  bool run(Taken& taken) {
    // Most URIs that do not match differ here already.
    if (!nodes_.empty() && !(begins_with(nodes_.front()) && ends_with(nodes_.back()))) return false;
    const std::size_t size = uri_.size();
    from_.resize(nodes_.size() + 1);
    parameter_.resize(nodes_.size());
    from_.back() = Bits(size);
    from_.back().set(size);
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      from_[i] = Bits(size);
      prepare(i);
    }
    if (!from_[0][0]) return false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < nodes_.size();) walk(i, at, taken);
    return true;
  }

 private:
  bool begins_with(const Node& node) const noexcept {
    return node.kind != Node::Kind::literal ||
           (node.text.size() <= uri_.size() &&
            std::equal(node.text.begin(), node.text.end(), uri_.begin()));
  }
  bool ends_with(const Node& node) const noexcept {
    return node.kind != Node::Kind::literal ||
           (node.text.size() <= uri_.size() &&
            std::equal(node.text.rbegin(), node.text.rend(), uri_.rbegin()));
  }

  static bool takes(const Node& node, Unit unit) noexcept {
    return node.reserved ? !(unit & broken) : is_simple(unit);
  }

  void prepare(std::size_t i) {
    detail::base::count_work(uri_.size() + 1);
    switch (nodes_[i].kind) {
      case Node::Kind::literal:
        return prepare_literal(i);
      case Node::Kind::run:
        return prepare_run(i);
      case Node::Kind::segments:
        return prepare_segments(i);
      case Node::Kind::named:
        return prepare_named(i);
      case Node::Kind::skip:
        return prepare_skip(i);
    }
  }

  /// Knuth, Morris and Pratt: a literal that nearly matches everywhere must not cost its length
  /// everywhere.
  void prepare_literal(std::size_t i) {
    const std::vector<Unit>& text = nodes_[i].text;
    std::vector<std::size_t> border(text.size() + 1, 0);
    for (std::size_t k = 1, length = 0; k < text.size(); border[++k] = length) {
      while (length > 0 && text[k] != text[length]) length = border[length];
      if (text[k] == text[length]) ++length;
    }
    for (std::size_t p = 0, length = 0; p < uri_.size(); ++p) {
      while (length > 0 && (length == text.size() || uri_[p] != text[length])) {
        length = border[length];
      }
      if (uri_[p] == text[length]) ++length;
      if (length == text.size() && from_[i + 1][p + 1]) from_[i].set(p + 1 - length);
    }
  }

  void prepare_run(std::size_t i) {
    const Node& node = nodes_[i];
    // The nearest end at or behind p that p reaches.
    std::size_t end = unlimited;
    for (std::size_t p = uri_.size() + 1; p-- > 0;) {
      if (p < uri_.size() && !takes(node, uri_[p])) end = unlimited;
      const bool longer = end != unlimited && end - p <= node.variable.max;
      const bool empty = from_[i + 1][p];
      if (longer || (empty && node.min == 0)) from_[i].set(p);
      if (empty) end = p;
    }
  }

  void prepare_segments(std::size_t i) {
    const Node& node = nodes_[i];
    bool inside = from_[i + 1][uri_.size()];
    for (std::size_t p = uri_.size(); p-- > 0;) {
      const bool begins = takes(node, uri_[p]) && inside;
      if (begins) from_[i].set(p);
      inside = begins || from_[i + 1][p] || (uri_[p] == node.separator && from_[i][p + 1]);
    }
  }

  /// A value of a parameter may end here.
  bool ends_value(std::size_t i, std::size_t p) const noexcept {
    return from_[i + 1][p] ||
           (p < uri_.size() && uri_[p] == nodes_[i].separator && parameter_[i][p + 1]);
  }

  void prepare_named(std::size_t i) {
    const Node& node = nodes_[i];
    parameter_[i] = Bits(uri_.size());
    // For each p the nearest end of a value that begins there.
    nearest_.assign(uri_.size() + 1, none);
    for (std::size_t p = uri_.size() + 1; p-- > 0;) {
      if (ends_value(i, p)) {
        nearest_[p] = static_cast<std::uint32_t>(p);
      } else if (p < uri_.size() && is_simple(uri_[p])) {
        nearest_[p] = nearest_[p + 1];
      }
      if (p > 0 && (uri_[p - 1] == node.first || uri_[p - 1] == node.separator)) {
        for (const Node::Parameter& parameter : node.parameters) {
          if (!begins_value(i, parameter, p)) continue;
          parameter_[i].set(p);
          break;
        }
      }
      const bool begins = p < uri_.size() && uri_[p] == node.first && parameter_[i][p + 1];
      if (begins || from_[i + 1][p]) from_[i].set(p);
    }
  }

  /// Where the value begins if this parameter does at p and the rest can match; nothing if not. A
  /// value of its own begins behind '=', that of a bare name where the name ends.
  std::optional<std::size_t> begins_value(std::size_t i, const Node::Parameter& parameter,
                                          std::size_t p) const noexcept {
    const std::vector<Unit>& name = parameter.name;
    if (name.size() > uri_.size() - p ||
        !std::equal(name.begin(), name.end(), uri_.begin() + std::ptrdiff_t(p))) {
      return std::nullopt;
    }
    p += name.size();
    if (p < uri_.size() && uri_[p] == '=' && can_end(i, p + 1, parameter.variable.max)) {
      return p + 1;
    }
    if (nodes_[i].bare_names && ends_value(i, p)) return p;
    return std::nullopt;
  }

  /// Some end of a value that begins at p is at most `max` characters away. While preparing it is
  /// known; while walking the value is read once more.
  bool can_end(std::size_t i, std::size_t p, std::size_t max) const noexcept {
    if (!walking_) return nearest_[p] != none && nearest_[p] - p <= max;
    return value_end(i, p, max).has_value();
  }

  /// The farthest end of a value that begins at p.
  std::optional<std::size_t> value_end(std::size_t i, std::size_t p,
                                       std::size_t max) const noexcept {
    std::optional<std::size_t> end;
    for (std::size_t length = 0;; ++length, ++p) {
      detail::base::count_work(1);
      if (ends_value(i, p)) end = p;
      if (p == uri_.size() || length == max || !is_simple(uri_[p])) return end;
    }
  }

  void prepare_skip(std::size_t i) {
    const Bits& inside = from_[i + 1];
    const Bits& behind = from_[nodes_[i].target];
    for (std::size_t p = 0; p <= uri_.size(); ++p) {
      if (inside[p] || behind[p]) from_[i].set(p);
    }
  }

  /// One node from the place where it is known to match; moves both on.
  void walk(std::size_t& i, std::size_t& at, Taken& taken) {
    walking_ = true;
    const Node& node = nodes_[i];
    switch (node.kind) {
      case Node::Kind::literal:
        at += node.text.size();
        break;
      case Node::Kind::run:
      case Node::Kind::segments: {
        const std::size_t end = farthest(i, at);
        taken.add(node.variable, decoded(at, end));
        at = end;
        break;
      }
      case Node::Kind::named:
        walk_named(i, at, taken);
        break;
      case Node::Kind::skip:
        if (!from_[i + 1][at]) {
          i = node.target;
          return;
        }
        break;
    }
    ++i;
  }

  std::size_t farthest(std::size_t i, std::size_t at) const noexcept {
    const Node& node = nodes_[i];
    std::size_t end = at;
    std::size_t begin = at;  // of the segment
    for (std::size_t p = at; p <= uri_.size(); ++p) {
      if (p - begin >= node.min && from_[i + 1][p]) end = p;
      if (p == uri_.size() || p - at == node.variable.max) break;
      if (takes(node, uri_[p])) continue;
      if (node.kind == Node::Kind::run || uri_[p] != node.separator || p == begin) break;
      begin = p + 1;
    }
    return end;
  }

  void walk_named(std::size_t i, std::size_t& at, Taken& taken) const {
    const Node& node = nodes_[i];
    for (Unit before = node.first; at < uri_.size() && uri_[at] == before && parameter_[i][at + 1];
         before = node.separator) {
      for (const Node::Parameter& parameter : node.parameters) {
        const auto begin = begins_value(i, parameter, at + 1);
        if (!begin) continue;
        const bool bare = uri_[*begin - 1] != '=';
        const std::size_t end = bare ? *begin : *value_end(i, *begin, parameter.variable.max);
        taken.add(parameter.variable, decoded(*begin, end));
        at = end;
        break;
      }
    }
  }

  std::string decoded(std::size_t begin, std::size_t end) const {
    std::string out;
    for (std::size_t p = begin; p < end; ++p) append_utf8(out, uri_[p] & ~encoded);
    return out;
  }

  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static_assert(UriTemplate::max_uri_bytes < none);

  const std::vector<Node>& nodes_;
  std::vector<Unit> uri_;
  /// from_[i][p]: nodes from i on match the URI from p on.
  std::vector<Bits> from_;
  /// parameter_[i][p]: a parameter of the named node i may begin at p.
  std::vector<Bits> parameter_;
  std::vector<std::uint32_t> nearest_;
  bool walking_ = false;
};

/// As far as `:n` lets a value appear.
std::string_view cut(std::string_view text, std::size_t max) noexcept {
  std::size_t at = 0;
  for (std::size_t count = 0; count < max && at < text.size(); ++count) {
    at += code_point(text.substr(at)).size;
  }
  return text.substr(0, at);
}

}  // namespace
}  // namespace uri

std::optional<std::map<std::string, std::string>> UriTemplate::match(std::string_view uri) const {
  if (uri.size() > max_uri_bytes) return std::nullopt;
  auto units = uri::units(uri);
  if (!units) return std::nullopt;
  uri::Taken taken(max_variables);
  if (!uri::Matcher(program_->nodes, *std::move(units)).run(taken) || taken.twice()) {
    return std::nullopt;
  }

  // Of several uses the longest has the whole value; all must be there and agree with it.
  std::map<std::string, std::string> values;
  const auto for_each_use = [&](auto&& function) {
    for (const uri::Part& part : program_->parts) {
      for (const uri::Variable& variable : part.variables) {
        if (!function(variable, program_->names[variable.name])) return false;
      }
    }
    return true;
  };
  for_each_use([&](const uri::Variable& variable, const std::string& name) {
    if (const auto& text = taken[variable]) {
      std::string& value = values[name];
      if (text->size() > value.size()) value = *text;
    }
    return true;
  });
  const bool agree = for_each_use([&](const uri::Variable& variable, const std::string& name) {
    const auto value = values.find(name);
    if (value == values.end()) return true;
    const auto& text = taken[variable];
    return text && *text == uri::cut(value->second, variable.max);
  });
  if (!agree) return std::nullopt;
  return values;
}

}  // namespace godwit::inline v0
