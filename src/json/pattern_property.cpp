#include "pattern_property.hpp"

#include <algorithm>
#include <array>

namespace godwit::inline v0::json::detail {

namespace {

struct Category {
  std::string_view name;
  std::string_view alias;
  std::string_view other = {};
};

constexpr std::array<Category, 38> categories{{
    {"C", "Other"},
    {"Cc", "Control", "cntrl"},
    {"Cf", "Format"},
    {"Cn", "Unassigned"},
    {"Co", "Private_Use"},
    {"Cs", "Surrogate"},
    {"L", "Letter"},
    {"LC", "Cased_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"Lu", "Uppercase_Letter"},
    {"M", "Mark", "Combining_Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"Mn", "Nonspacing_Mark"},
    {"N", "Number"},
    {"Nd", "Decimal_Number", "digit"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"P", "Punctuation", "punct"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"S", "Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"Sm", "Math_Symbol"},
    {"So", "Other_Symbol"},
    {"Z", "Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Zs", "Space_Separator"},
}};

// The four-letter names of the scripts that are written most; RE2 knows the long ones.
constexpr std::array<Category, 36> scripts{{
    {"Latin", "Latn"},      {"Greek", "Grek"},     {"Cyrillic", "Cyrl"},  {"Armenian", "Armn"},
    {"Hebrew", "Hebr"},     {"Arabic", "Arab"},    {"Syriac", "Syrc"},    {"Thaana", "Thaa"},
    {"Devanagari", "Deva"}, {"Bengali", "Beng"},   {"Gurmukhi", "Guru"},  {"Gujarati", "Gujr"},
    {"Oriya", "Orya"},      {"Tamil", "Taml"},     {"Telugu", "Telu"},    {"Kannada", "Knda"},
    {"Malayalam", "Mlym"},  {"Sinhala", "Sinh"},   {"Thai", "Thai"},      {"Lao", "Laoo"},
    {"Tibetan", "Tibt"},    {"Myanmar", "Mymr"},   {"Georgian", "Geor"},  {"Hangul", "Hang"},
    {"Ethiopic", "Ethi"},   {"Cherokee", "Cher"},  {"Mongolian", "Mong"}, {"Khmer", "Khmr"},
    {"Hiragana", "Hira"},   {"Katakana", "Kana"},  {"Bopomofo", "Bopo"},  {"Han", "Hani"},
    {"Common", "Zyyy"},     {"Inherited", "Zinh"}, {"Braille", "Brai"},   {"Coptic", "Copt"},
}};

// Properties that ECMA-262 has and RE2 has no tables for.
constexpr std::array<std::string_view, 40> binary{{
    "ASCII_Hex_Digit",
    "AHex",
    "Alphabetic",
    "Alpha",
    "Assigned",
    "Bidi_Control",
    "Bidi_C",
    "Bidi_Mirrored",
    "Bidi_M",
    "Case_Ignorable",
    "CI",
    "Cased",
    "Changes_When_Lowercased",
    "Changes_When_Uppercased",
    "Dash",
    "Default_Ignorable_Code_Point",
    "DI",
    "Deprecated",
    "Diacritic",
    "Dia",
    "Emoji",
    "Emoji_Component",
    "Emoji_Modifier",
    "Emoji_Modifier_Base",
    "Emoji_Presentation",
    "Extended_Pictographic",
    "Extender",
    "Grapheme_Base",
    "Grapheme_Extend",
    "Hex_Digit",
    "ID_Continue",
    "ID_Start",
    "Ideographic",
    "Lowercase",
    "Math",
    "Noncharacter_Code_Point",
    "Uppercase",
    "White_Space",
    "XID_Continue",
    "XID_Start",
}};

UnicodeProperty category(std::string_view name) {
  using Kind = UnicodeProperty::Kind;
  for (const Category& one : categories) {
    if (name != one.name && name != one.alias && (one.other.empty() || name != one.other)) {
      continue;
    }
    if (one.name == "LC") return {Kind::categories, {"Lu", "Ll", "Lt"}};
    // RE2 does not know which characters are unassigned, and counts them to no category.
    if (one.name == "Cn" || one.name == "C") return {.kind = Kind::unsupported};
    if (one.name == "Cs") return {.kind = Kind::range, .first = 0xd800, .last = 0xdfff};
    return {Kind::categories, {one.name}};
  }
  return {};
}

UnicodeProperty script(std::string_view name) {
  using Kind = UnicodeProperty::Kind;
  for (const Category& one : scripts) {
    if (name == one.alias || name == one.name) return {Kind::categories, {one.name}};
  }
  const auto odd = [](char c) {
    return !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_';
  };
  // A general category is no script, although RE2 keeps both in one table. The others are left for
  // RE2 to judge when the pattern is compiled.
  if (name.size() < 3 || std::any_of(name.begin(), name.end(), odd)) return {};
  return {Kind::categories, {name}};
}

}  // namespace

UnicodeProperty unicode_property(std::string_view name) {
  using Kind = UnicodeProperty::Kind;
  if (const auto equals = name.find('='); equals != std::string_view::npos) {
    const std::string_view key = name.substr(0, equals);
    const std::string_view value = name.substr(equals + 1);
    if (key == "General_Category" || key == "gc") return category(value);
    if (key == "Script" || key == "sc") return script(value);
    if (key == "Script_Extensions" || key == "scx") return {.kind = Kind::unsupported};
    return {};
  }
  if (name == "Any") return {.kind = Kind::range, .first = 0, .last = 0x10ffff};
  if (name == "ASCII") return {.kind = Kind::range, .first = 0, .last = 0x7f};
  if (std::find(binary.begin(), binary.end(), name) != binary.end()) {
    return {.kind = Kind::unsupported};
  }
  return category(name);
}

}  // namespace godwit::inline v0::json::detail
