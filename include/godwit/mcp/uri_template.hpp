// UriTemplate: RFC 6570, level 4, in both directions: values into a URI, and a URI back into the
// values. A value; copies share what was parsed. Any thread.
//
//   auto users = godwit::UriTemplate::parse("db://{table}/rows{/id}{?limit,offset}");
//   users->expand({{"table", "birds"}, {"limit", 10}});    // "db://birds/rows?limit=10"
//   users->match("db://birds/rows/7?offset=2");   // {"id":"7","offset":"2","table":"birds"}
//
// Matching, by expression:
//
//   {a}            one or more characters that are not reserved (RFC 3986), or percent-encoded ones
//   {+a}           one or more of any characters, also / ? #
//   {#a}           '#' and any characters, or nothing at all
//   {/a} {.a}      '/' or '.' and one or more characters as in {a}, or nothing at all
//   {;a} {?a} {&a} parameters, each there or not, in any order inside the expression; a value is
//                  characters as in {a}, also none; one that occurs twice does not match
//   {a,b}          all of them, or (with # . /) all or none, between the operator's separators
//   {a*} {/a*}     several items; the value has the separators between them: "red,green", "x/y"
//   {?a*}          the parameter as often as it occurs; the value has ',' between them
//   {a:3}          at most three characters
//
// Where a URI can be cut in several ways (`{a}{b}`, `{+path}/{name}`), the earlier variable takes
// as much as it can while the rest still matches. A variable that is named twice must be there in
// both places with the same value; the cut is made first, without looking at values. The spelling
// of a URI does not count: %7e is ~, and a character that should have been encoded and is not (a
// space, a letter beyond ASCII) counts as encoded. Associative arrays are not recognised.
//
// Values are percent-decoded, all of them: also one of {a} may hold "/" or be "..", so check before
// using one as a file name.
//
// The time to match grows with the length of the URI times the number of expressions and literals,
// whatever the input; the memory with an eighth of that.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/value.hpp"

namespace godwit::inline v0 {

class GODWIT_API UriTemplate {
 public:
  /// Longer templates are refused: a list of them is sent to every client.
  static constexpr std::size_t max_template_bytes = 8 << 10;
  /// More variables in one template, counted as often as they are named, are refused.
  static constexpr std::size_t max_variables = 64;
  /// Longer URIs match nothing: bounds the memory that a peer can ask for.
  static constexpr std::size_t max_uri_bytes = 1 << 20;

  /// Copying is cheap, and moving is copying: every UriTemplate has a template.
  UriTemplate(const UriTemplate&) = default;
  UriTemplate& operator=(const UriTemplate&) = default;
  ~UriTemplate();

  /// The error says what is wrong and at which byte, counted from 0.
  static Result<UriTemplate> parse(std::string_view text);

  /// The template as it was written.
  const std::string& text() const noexcept;
  /// The names as written, in the order of their first use, each once.
  const std::vector<std::string>& variables() const noexcept;

  /// The URI for these values. A string, number or boolean is a value, an array of those a list, an
  /// object of those an associative array; null, absent and empty arrays and objects are undefined.
  /// Fails on deeper values, on text that is not UTF-8, and on `:n` with a list.
  Result<std::string> expand(const json::Object& values) const;

  /// The values that the URI has for the variables, without those that are not there; nothing if
  /// the URI does not fit the template. For values that are plain strings, put into a template
  /// without + # and *, expand() gives the URI again, its parameters in the template's order.
  std::optional<std::map<std::string, std::string>> match(std::string_view uri) const;

  /// The same text.
  bool operator==(const UriTemplate& other) const noexcept { return text() == other.text(); }

 private:
  struct Program;
  explicit UriTemplate(std::shared_ptr<const Program> program);

  std::shared_ptr<const Program> program_;
};

}  // namespace godwit::inline v0
