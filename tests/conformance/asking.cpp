// Tools that ask a client of the stateful revisions: a model, and a person by every kind of form.
// They are written like those for the stateless one, and work there, too.
#include <godwit/godwit.hpp>
#include <string>

#include "fixture.hpp"

namespace conformance {

namespace {

struct Prompt {
  std::string prompt{};
  static constexpr godwit::Field fields[] = {{"prompt", "What to ask the model"}};
};
struct Message {
  std::string message{};
  static constexpr godwit::Field fields[] = {{"message", "What to ask the person"}};
};
struct User {
  std::string username{};
  std::string email{};
  static constexpr godwit::Field fields[] = {{"username", "User's response"},
                                             {"email", "User's email address"}};
};

enum class Status { active, inactive, pending };
struct Defaults {
  std::string name = "John Doe";
  int age = 30;
  double score = 95.5;
  Status status = Status::active;
  bool verified = true;

  static constexpr godwit::Field fields[] = {
      {.name = "name", .about = "User name", .has_default = true},
      {.name = "age", .about = "User age", .has_default = true},
      {.name = "score", .about = "User score", .has_default = true},
      {.name = "status", .about = "User status", .has_default = true},
      {.name = "verified", .about = "Verification status", .has_default = true}};
};

/// One of several in each way that a form can say it. Titles have no counterpart in a struct.
constexpr const char* choices = R"({
  "type": "object",
  "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
      "type": "string",
      "oneOf": [
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"}
      ]
    },
    "legacyEnum": {
      "type": "string",
      "enum": ["opt1", "opt2", "opt3"],
      "enumNames": ["Option One", "Option Two", "Option Three"]
    },
    "untitledMulti": {
      "type": "array",
      "items": {"type": "string", "enum": ["option1", "option2", "option3"]}
    },
    "titledMulti": {
      "type": "array",
      "items": {
        "anyOf": [
          {"const": "value1", "title": "First Choice"},
          {"const": "value2", "title": "Second Choice"},
          {"const": "value3", "title": "Third Choice"}
        ]
      }
    }
  }
})";

template <class T>
std::string describe(const godwit::Answer<T>& answer) {
  return "action=" + std::string(godwit::json::enum_name(answer.action())) +
         ", content=" + (answer.accepted() ? godwit::json::encode(answer.value()) : "{}");
}

}  // namespace

void add_asking_tools(godwit::Server& server) {
  server.tool("test_sampling", "Asks the client's model",
              [](Prompt in, godwit::Context& cx) -> godwit::Result<std::string> {
                auto answer = cx.sample("answer", godwit::ask_model(in.prompt, 100));
                if (!answer) return answer.error();
                const auto* text = std::get_if<godwit::TextContent>(&answer->content);
                return "LLM response: " + (text ? text->text : "No response");
              });

  server.tool("test_elicitation", "Asks the person at the client",
              [](Message in, godwit::Context& cx) -> godwit::Result<std::string> {
                auto user = cx.elicit<User>("user", in.message);
                if (!user) return user.error();
                return "User response: " + describe(*user);
              });

  server.tool("test_elicitation_sep1034_defaults", "Asks by a form with defaults",
              [](godwit::Context& cx) -> godwit::Result<std::string> {
                auto answer = cx.elicit<Defaults>("defaults", "Please review and update");
                if (!answer) return answer.error();
                return "Elicitation completed: " + describe(*answer);
              });

  server.tool("test_elicitation_sep1330_enums", "Asks by a form with every kind of choice",
              [](godwit::Context& cx) -> godwit::Result<std::string> {
                auto answer = cx.elicit("choices", "Please choose", {choices});
                if (!answer) return answer.error();
                return "Elicitation completed: " + describe(*answer);
              });
}

}  // namespace conformance
