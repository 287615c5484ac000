#include "mcp/era/stateless_headers.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "godwit/json/document.hpp"
#include "mcp/era/stateless.hpp"

namespace godwit::inline v0::mcp {
namespace {

/// Header fields with their text.
class Fields {
 public:
  using Map = std::map<std::string, std::string>;
  explicit Fields(Map fields) : text_(std::move(fields)) {
    for (const auto& [name, value] : text_) fields_.push_back({name, value});
    view_ = rpc::HeaderFields(fields_);
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  operator const rpc::HeaderFields&() const { return view_; }

 private:
  Map text_;
  std::vector<HeaderField> fields_;
  rpc::HeaderFields view_;
};

/// A parsed text that lives as long as the views into it.
struct Parsed {
  explicit Parsed(std::string_view from) : text(from), view(*document.parse(text)) {}
  std::string text;
  json::Document document;
  json::View view;
};

// Values.

TEST(HeaderValue, IsPlainWhereItCanBe) {
  for (const char* plain :
       {"", "a", "hello world", "a=b;c", "!\"#$%&'()*+,-./:<=>?@[]^_`{|}~", "=?base64?open",
        "shut?=", "=?base64", "?=", "=?Base64?x?=", "=?BASE64?x?=", "a  b"}) {
    EXPECT_EQ(header_value(plain), plain);
    EXPECT_EQ(read_header_value(plain), plain);
  }
}

TEST(HeaderValue, IsBase64WhereItMustBe) {
  const std::pair<std::string, std::string> cases[] = {
      {"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
      {" padded ", "=?base64?IHBhZGRlZCA=?="},
      {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
      {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
      {" a", "=?base64?IGE=?="},
      {"a ", "=?base64?YSA=?="},
      {"a\tb", "=?base64?YQli?="},
      {"\ta", "=?base64?CWE=?="},
      {"\x7f", "=?base64?fw==?="},
      {std::string("\0", 1), "=?base64?AA==?="},
      {"a\r\nX: y", "=?base64?YQ0KWDogeQ==?="},
      {"=?base64?"
       "?=",
       "=?base64?PT9iYXNlNjQ/Pz0=?="},
      {" ", "=?base64?IA==?="}};
  for (const auto& [text, field] : cases) {
    EXPECT_EQ(header_value(text), field);
    EXPECT_EQ(read_header_value(field), text);
  }
}

TEST(HeaderValue, ComesBackWhateverItIs) {
  std::mt19937 random(1);
  for (int i = 0; i < 5'000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = static_cast<char>(i % 2 == 0 ? random() % 256 : random() % 100 + 20);
    if (i % 7 == 0) text = "=?base64?" + text + "?=";
    const std::string field = header_value(text);
    for (const char c : field) EXPECT_TRUE(c >= 0x20 && c <= 0x7e);
    EXPECT_FALSE(field.starts_with(' ') || field.ends_with(' '));
    EXPECT_EQ(read_header_value(field), text) << field;
  }
}

TEST(HeaderValue, MarkedAsBase64ItMustBeThat) {
  for (const char* bad : {"=?base64?SGVsbG8?=", "=?base64?SGVsbG8==?=", "=?base64?SGVs bG8=?=",
                          "=?base64?SGVsbG8=?=?=", "=?base64?SGVsbG_=?=", "=?base64?SGVsbG-=?=",
                          "=?base64?=?=", "=?base64?====?=", "=?base64?A===?=",
                          "=?base64?SGVsbG9=?=", "=?base64?S=VsbG8=?=", "=?base64?literal?="}) {
    EXPECT_FALSE(read_header_value(bad)) << bad;
  }
  EXPECT_EQ(read_header_value("=?base64?"
                              "?="),
            "");
  EXPECT_EQ(read_header_value("=?base64?="), "=?base64?=");  // the marks overlap
}

// Marks in a schema.

std::string names_of(std::string_view schema) {
  const Parsed parsed(schema);
  const auto headers = param_headers(parsed.view);
  if (!headers) return "refused";
  std::string text;
  for (const ParamHeader& header : *headers) {
    text += header.name + "=";
    for (const std::string& name : header.path) text += "/" + name;
    text += header.kind == ParamHeader::Kind::string    ? ":s "
            : header.kind == ParamHeader::Kind::integer ? ":i "
                                                        : ":b ";
  }
  return text;
}

TEST(ParamHeaders, AreFoundThroughPropertiesAlone) {
  EXPECT_EQ(names_of(R"({"type":"object"})"), "");
  EXPECT_EQ(names_of("{}"), "");
  EXPECT_EQ(names_of("true"), "");
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"string","x-mcp-header":"A"}}})"), "A=/a:s ");
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"integer","x-mcp-header":"A"},
                         "b":{"type":"boolean","x-mcp-header":"b-2"},"c":{"type":"number"}}})"),
            "A=/a:i b-2=/b:b ");
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"object","properties":{
                         "b":{"type":"object","properties":{
                         "c":{"type":"string","x-mcp-header":"Deep"}}}}}}})"),
            "Deep=/a/b/c:s ");
  EXPECT_EQ(names_of(R"({"properties":{"Method":{"type":"string","x-mcp-header":"Method"}}})"),
            "Method=/Method:s ");
  // A property that happens to have such a name is none.
  EXPECT_EQ(names_of(R"({"properties":{"x-mcp-header":{"type":"string"}}})"), "");
  EXPECT_EQ(names_of(R"({"properties":{"properties":{"type":"object","properties":{
                         "items":{"type":"string","x-mcp-header":"I"}}}}})"),
            "I=/properties/items:s ");
}

TEST(ParamHeaders, OfNamesThatAreNoneAreRefused) {
  for (const char* bad : {R"("")", R"("a b")", R"("a:b")", R"("a\nb")", R"("ü")", R"("a\u0000")",
                          R"("a,b")", R"("a/b")", R"-("(a)")-", "5", "null", "true", "[]", "{}",
                          R"([" "])", R"(" a")", R"("a\t")"}) {
    EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"string","x-mcp-header":)" + std::string(bad) +
                       "}}}"),
              "refused")
        << bad;
  }
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"string",
                         "x-mcp-header":"!#$%&'*+-.^_`|~09azAZ"}}})"),
            "!#$%&'*+-.^_`|~09azAZ=/a:s ");
}

TEST(ParamHeaders, OfTwoPropertiesAreRefused) {
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"string","x-mcp-header":"Same"},
                         "b":{"type":"string","x-mcp-header":"sAME"}}})"),
            "refused");
  EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"string","x-mcp-header":"Same"},
                         "b":{"type":"object","properties":{
                         "c":{"type":"string","x-mcp-header":"Same"}}}}})"),
            "refused");
}

TEST(ParamHeaders, OfOtherTypesAreRefused) {
  for (const char* type : {R"("number")", R"("object")", R"("array")", R"("null")",
                           R"(["string","null"])", R"(["string"])", "5", "null"}) {
    EXPECT_EQ(
        names_of(R"({"properties":{"a":{"x-mcp-header":"A","type":)" + std::string(type) + "}}}"),
        "refused")
        << type;
  }
  EXPECT_EQ(names_of(R"({"properties":{"a":{"x-mcp-header":"A"}}})"), "refused");
}

TEST(ParamHeaders, BelowOtherKeywordsAreRefused) {
  const std::string marked = R"({"type":"string","x-mcp-header":"A"})";
  const std::string inside = R"({"properties":{"p":)" + marked + "}}";
  for (const std::string& one : {marked, inside}) {
    for (const char* keyword :
         {"items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames",
          "additionalItems", "unevaluatedItems", "unevaluatedProperties"}) {
      EXPECT_EQ(names_of(R"({"properties":{"a":{")" + std::string(keyword) + R"(":)" + one + "}}}"),
                "refused")
          << keyword;
      EXPECT_EQ(names_of(R"({")" + std::string(keyword) + R"(":)" + one + "}"), "refused")
          << keyword;
    }
    for (const char* keyword : {"oneOf", "anyOf", "allOf", "prefixItems", "items"}) {
      EXPECT_EQ(names_of(R"({")" + std::string(keyword) + R"(":[{},)" + one + "]}"), "refused")
          << keyword;
    }
    for (const char* keyword : {"$defs", "definitions", "patternProperties", "dependentSchemas"}) {
      EXPECT_EQ(names_of(R"({")" + std::string(keyword) + R"(":{"x":)" + one + "}}"), "refused")
          << keyword;
    }
  }
  // Where a schema has values of the program, a mark is none.
  for (const char* keyword : {"default", "const", "examples", "enum"}) {
    EXPECT_EQ(names_of(R"({"properties":{"a":{"type":"object",")" + std::string(keyword) +
                       R"(":[)" + marked + "]}}}"),
              "")
        << keyword;
  }
}

TEST(ParamHeaders, AtTheRootAreRefused) {
  EXPECT_EQ(names_of(R"({"type":"object","x-mcp-header":"Root"})"), "refused");
}

TEST(ParamHeaders, CostNoMoreThanARequestCanCarry) {
  const auto marks = [](int count, const std::string& name, const std::string& property) {
    std::string out = R"({"properties":{")" + property + R"(":{"properties":{)";
    for (int i = 0; i < count; ++i) {
      out += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"type":"string","x-mcp-header":")" +
             name + std::to_string(i) + "\"}";
    }
    return out + "}}}}";
  };
  EXPECT_NE(names_of(marks(64, "A", "p")), "refused");
  EXPECT_EQ(names_of(marks(65, "A", "p")), "refused");
  EXPECT_NE(names_of(marks(1, std::string(255, 'A'), "p")), "refused");
  EXPECT_EQ(names_of(marks(1, std::string(256, 'A'), "p")), "refused");
  EXPECT_NE(names_of(marks(1, "A", std::string(4095, 'p'))), "refused");
  EXPECT_EQ(names_of(marks(1, "A", std::string(4096, 'p'))), "refused");
}

TEST(ParamHeaders, AVeryDeepSchemaEndsSomehow) {
  std::string schema = R"({"type":"string","x-mcp-header":"A"})";
  for (int i = 0; i < 50; ++i) schema = R"({"properties":{"p":)" + schema + "}}";
  EXPECT_NE(names_of(schema), "refused");
  EXPECT_NE(names_of(schema), "");
}

// Values of arguments.

TEST(ParamValue, IsWhatTheFieldSays) {
  const ParamHeader deep{.name = "D", .path = {"a", "b"}};
  const auto value = [&](std::string_view arguments) {
    const Parsed parsed(arguments);
    return param_value(deep, parsed.view).value_or("(none)");
  };
  EXPECT_EQ(value(R"({"a":{"b":"text"}})"), "text");
  EXPECT_EQ(value(R"({"a":{"b":""}})"), "");
  EXPECT_EQ(value(R"({"a":{"b":42}})"), "42");
  EXPECT_EQ(value(R"({"a":{"b":42.0}})"), "42");
  EXPECT_EQ(value(R"({"a":{"b":-0}})"), "0");
  EXPECT_EQ(value(R"({"a":{"b":4.2e1}})"), "42");
  EXPECT_EQ(value(R"({"a":{"b":9007199254740991}})"), "9007199254740991");
  EXPECT_EQ(value(R"({"a":{"b":-9007199254740991}})"), "-9007199254740991");
  EXPECT_EQ(value(R"({"a":{"b":true}})"), "true");
  EXPECT_EQ(value(R"({"a":{"b":false}})"), "false");
  for (const char* none :
       {R"({"a":{"b":null}})", R"({"a":{}})", R"({"a":null})", R"({"a":5})", "{}", "[]", "5",
        R"({"a":{"b":4.5}})", R"({"a":{"b":1e300}})", R"({"a":{"b":[]}})", R"({"a":{"b":{}}})"}) {
    EXPECT_EQ(value(none), "(none)") << none;
  }
}

TEST(CheckParams, AbsentArgumentsExpectNothing) {
  const ParamHeader one{.name = "A", .path = {"a"}};
  EXPECT_FALSE(check_params(Fields(Fields::Map{}), {&one, 1}, {}));
  EXPECT_FALSE(check_params(Fields(Fields::Map{{"Mcp-Param-A", "x"}}), {&one, 1}, {}));
}

TEST(CheckMethod, IsExact) {
  EXPECT_FALSE(check_method(Fields(Fields::Map{{"Mcp-Method", "tools/list"}}), "tools/list"));
  for (const char* other : {"TOOLS/LIST", "tools/call", "", "tools/list "}) {
    const auto error = check_method(Fields(Fields::Map{{"Mcp-Method", other}}), "tools/list");
    ASSERT_TRUE(error) << other;
    EXPECT_EQ(error->code, code::header_mismatch);
  }
  EXPECT_TRUE(check_method(Fields(Fields::Map{}), "tools/list"));
}

TEST(CheckMethod, HugeValuesMakeNoHugeMessages) {
  const std::string huge(1u << 20, 'x');
  EXPECT_LT(check_method(Fields(Fields::Map{{"Mcp-Method", huge}}), huge + "y")->message.size(),
            1'000u);
}

TEST(NamingMember, IsWhatARequestIsAbout) {
  EXPECT_EQ(naming_member("tools/call"), "name");
  EXPECT_EQ(naming_member("prompts/get"), "name");
  EXPECT_EQ(naming_member("resources/read"), "uri");
  EXPECT_EQ(naming_member("tasks/get"), "taskId");
  for (const char* none : {"tools/list", "no/such", "", "Tools/call"}) {
    EXPECT_EQ(naming_member(none), "") << none;
  }
}

TEST(CheckName, IsTheNameInTheBody) {
  const Parsed call(R"({"name":"add","uri":"x:1"})");
  const auto named = [](const char* name) { return Fields(Fields::Map{{"Mcp-Name", name}}); };
  EXPECT_FALSE(check_name(named("add"), "tools/call", call.view));
  EXPECT_FALSE(check_name(named("=?base64?YWRk?="), "tools/call", call.view));
  EXPECT_FALSE(check_name(named("x:1"), "resources/read", call.view));
  EXPECT_FALSE(check_name(Fields(Fields::Map{}), "tools/list", call.view));
  for (const char* other : {"", "Add", "x:1", "=?base64?YWRj?=", "=?base64?YWRk", "=?base64?!?="}) {
    const auto error = check_name(named(other), "tools/call", call.view);
    ASSERT_TRUE(error) << other;
    EXPECT_EQ(error->code, code::header_mismatch);
  }
  EXPECT_TRUE(check_name(Fields(Fields::Map{}), "tools/call", call.view));
}

TEST(CheckName, ABodyWithoutANameIsAnotherMistake) {
  for (const char* params : {"{}", "[]", R"({"name":7})"}) {
    EXPECT_FALSE(check_name(Fields(Fields::Map{}), "tools/call", Parsed(params).view)) << params;
  }
}

}  // namespace
}  // namespace godwit::inline v0::mcp
