// Tools and a prompt that need input, as the stateless revision has it. The keys are those of the
// suite: some of its clients send answers without having been asked.
#include <godwit/godwit.hpp>
#include <string>
#include <variant>

#include "fixture.hpp"

namespace conformance {

namespace {

struct Name {
  std::string name{};
};
struct Colour {
  std::string color{};
};
struct Confirm {
  bool ok{};
};

using Text = godwit::Result<std::string>;

std::string text_of(const godwit::SamplingResult& result) {
  const auto* text = std::get_if<godwit::TextContent>(&result.content);
  return text ? text->text : "(no text)";
}

/// Asks in the explicit style, which lets it choose the questions: only those that the client says
/// it can answer.
std::variant<std::string, godwit::InputRequired> ask_what_is_offered(godwit::Context& cx) {
  const godwit::ClientCapabilities& client = cx.client_capabilities();
  godwit::InputRequired questions;
  std::string answered;
  if (client.elicitation && client.elicitation->takes_forms()) {
    if (cx.answer("user_name")) answered += " user_name";
    questions.form<Name>("user_name", "What is your name?");
  }
  if (client.sampling) {
    if (cx.answer("greeting")) answered += " greeting";
    questions.sample("greeting", godwit::ask_model("Generate a greeting", 50));
  }
  if (client.roots) {
    if (cx.answer("client_roots")) answered += " client_roots";
    questions.roots("client_roots");
  }
  if (questions.questions().empty()) return "The client can answer nothing";
  if (answered.empty()) return questions;
  return "Answered:" + answered;
}

void add_single_questions(godwit::Server& server) {
  server.tool("test_input_required_result_elicitation", "Asks the person for a name",
              [](godwit::Context& cx) -> Text {
                auto user = cx.elicit<Name>("user_name", "What is your name?");
                if (!user) return user.error();
                return user->accepted() ? "Hello, " + user->value().name + "!" : "Hello, whoever!";
              });

  server.tool("test_input_required_result_sampling", "Asks the model for a capital",
              [](godwit::Context& cx) -> Text {
                auto answer = cx.sample("capital_question",
                                        godwit::ask_model("What is the capital of France?", 100));
                if (!answer) return answer.error();
                return text_of(*answer);
              });

  server.tool("test_input_required_result_list_roots", "Asks where it may work",
              [](godwit::Context& cx) -> Text {
                auto roots = cx.roots("client_roots");
                if (!roots) return roots.error();
                return "There are " + std::to_string(roots->size()) + " roots";
              });

  server.tool("test_input_required_result_request_state", "Keeps a state while it asks",
              [](godwit::Context& cx) -> Text {
                auto confirm = cx.elicit<Confirm>("confirm", "Please confirm");
                if (!confirm) return confirm.error();
                return "state-ok";
              });

  server.tool("test_input_required_result_tampered_state", "Keeps a state that cannot be forged",
              [](godwit::Context& cx) -> Text {
                auto confirm = cx.elicit<Confirm>("confirm", "Please confirm");
                if (!confirm) return confirm.error();
                return "The state is as it was";
              });
}

void add_several_questions(godwit::Server& server) {
  server.tool("test_input_required_result_multiple_inputs", "Asks three things at once",
              [](godwit::Context& cx) -> Text {
                auto answers = cx.ask_all(
                    godwit::ask_form<Name>("user_name", "What is your name?"),
                    godwit::ask_sample("greeting", godwit::ask_model("Generate a greeting", 50)),
                    godwit::ask_roots("client_roots"));
                if (!answers) return answers.error();
                const auto& [user, greeting, roots] = *answers;
                return text_of(greeting) + " " + (user.accepted() ? user->name : "whoever") + ", " +
                       std::to_string(roots.size()) + " roots";
              });

  server.tool("test_input_required_result_multi_round", "Asks twice, one after the other",
              [](godwit::Context& cx) -> Text {
                auto user = cx.elicit<Name>("step1", "Step 1: What is your name?");
                if (!user) return user.error();
                auto colour = cx.elicit<Colour>("step2", "Step 2: What is your favorite color?");
                if (!colour) return colour.error();
                if (!user->accepted() || !colour->accepted()) return "Not all was answered";
                return user->value().name + " likes " + colour->value().color;
              });

  server.tool("test_input_required_result_capabilities", "Asks only what the client can answer",
              ask_what_is_offered);
}

void add_diagnostic_tools(godwit::Server& server) {
  server.tool("test_missing_capability", "Cannot work without the client's model",
              [](godwit::Context& cx) -> Text {
                auto answer = cx.sample("answer", godwit::ask_model("Say hello", 20));
                if (!answer) return answer.error();
                return text_of(*answer);
              });

  server.tool("test_streaming_elicitation", "Reports progress, then asks",
              [](godwit::Context& cx) -> Text {
                cx.progress(1, 2, "About to ask");
                auto confirm = cx.elicit<Confirm>("confirm", "Please confirm");
                if (!confirm) return confirm.error();
                return confirm->accepted() ? "Confirmed" : "Not confirmed";
              });
}

}  // namespace

void add_input_tools(godwit::Server& server) {
  add_single_questions(server);
  add_several_questions(server);
  add_diagnostic_tools(server);
}

}  // namespace conformance
