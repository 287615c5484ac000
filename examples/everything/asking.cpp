// Tools that ask: the person, the model, the roots. Each is one plain function that runs again with
// the answers; what must happen once stands in once().
#include <godwit/godwit.hpp>
#include <string>
#include <vector>

#include "tools.hpp"

namespace everything {

namespace {

enum class Colour { red, green, blue };
struct Profile {
  std::string name{};
  int age = 18;
  double height = 1.75;
  bool newsletter = true;
  Colour colour = Colour::green;
  std::vector<Colour> others{};

  static constexpr godwit::Field fields[] = {
      {.name = "name", .about = "Your name", .min_length = 1, .max_length = 80},
      {.name = "age", .minimum = 0, .maximum = 150, .has_default = true},
      {.name = "height", .about = "In metres", .has_default = true},
      {.name = "newsletter", .has_default = true},
      {.name = "colour", .has_default = true},
      {.name = "others", .about = "Other colours you like", .has_default = true}};
};
struct Name {
  std::string name{};
};
struct Yes {
  bool yes{};
};
struct Prompt {
  std::string prompt{};
};
struct Purchase {
  std::string item{};
};

std::string first_text(const godwit::SamplingResult& result) {
  const auto* text = std::get_if<godwit::TextContent>(&result.content);
  return text ? text->text : "(no text)";
}

}  // namespace

void add_asking_tools(godwit::Server& server) {
  server.tool("register", "Asks for a profile: every kind of field, with defaults",
              [](godwit::Context& cx) -> godwit::Result<std::string> {
                auto profile = cx.elicit<Profile>("profile", "Who are you?");
                if (!profile) return profile.error();
                if (profile->declined()) return "declined";
                if (profile->cancelled()) return "cancelled";
                return "welcome, " + profile->value().name + ", " +
                       std::to_string(profile->value().age);
              });

  server.tool("sign", "Asks to open a url", [](godwit::Context& cx) -> godwit::Result<std::string> {
    auto action = cx.elicit_url("sign", "Please sign", "https://example.com/sign");
    if (!action) return action.error();
    return *action == godwit::ElicitAction::accept ? "on its way" : "not signed";
  });

  server.tool("ask_model", "Asks the client's model",
              [](Prompt in, godwit::Context& cx) -> godwit::Result<std::string> {
                auto answer = cx.sample("answer", godwit::ask_model(in.prompt, 100));
                if (!answer) return answer.error();
                return answer->model + " says: " + first_text(*answer);
              });

  server.tool("roots", "Asks where it may work",
              [](godwit::Context& cx) -> godwit::Result<std::vector<godwit::Root>> {
                return cx.roots("roots");
              });

  server.tool("all_at_once", "Asks person, model and roots in one round",
              [](godwit::Context& cx) -> godwit::Result<std::string> {
                auto answers =
                    cx.ask_all(godwit::ask_form<Name>("name", "Your name?"),
                               godwit::ask_sample("greeting", godwit::ask_model("Say hello", 20)),
                               godwit::ask_roots("roots"));
                if (!answers) return answers.error();
                const auto& [name, greeting, roots] = *answers;
                if (!name.accepted()) return "nobody";
                return first_text(greeting) + " " + name->name + ", " +
                       std::to_string(roots.size()) + " roots";
              });

  server.tool("buy", "Three questions in a row, and one payment between them",
              [](Purchase in, godwit::Context& cx) -> godwit::Result<std::string> {
                auto sure = cx.elicit<Yes>("sure", "Buy " + in.item + "?");
                if (!sure) return sure.error();
                if (!sure->accepted() || !sure->value().yes) return "not bought";
                auto payer = cx.elicit<Name>("payer", "Who pays?");
                if (!payer) return payer.error();
                if (!payer->accepted()) return "nobody pays";
                auto payment = cx.once("payment", [&] {
                  static int payments = 0;
                  return "payment " + std::to_string(++payments) + " by " + payer->value().name;
                });
                if (!payment) return payment.error();
                auto receipt = cx.elicit<Yes>("receipt", "Do you want a receipt?");
                if (!receipt) return receipt.error();
                return in.item + ": " + *payment;
              });

  server.tool("explicit", "Asks in the explicit style, with a state of its own",
              [](godwit::Context& cx) -> std::variant<std::string, godwit::InputRequired> {
                const godwit::json::Value* answer = cx.answer("name");
                if (!answer) {
                  return godwit::InputRequired{}.form<Name>("name", "Your name?").state("asked");
                }
                if ((*answer)["action"] != "accept") return std::string("nobody");
                return std::string(cx.state()) + ": " +
                       (*answer)["content"]["name"].get<std::string>();
              });
}

}  // namespace everything
