// Talks to an MCP server and shows what is said.
//
//   hello_client [SERVER [ARGUMENTS...]]      (default: the everything server beside this program)
#include <filesystem>
#include <godwit/godwit.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

struct Echo {
  std::string message{};
};
struct Numbers {
  std::vector<double> numbers{};
};
struct Statistics {
  double sum{};
  double mean{};
  int count{};
};
struct Purchase {
  std::string item{};
};

template <class T>
bool show(const std::string& what, const godwit::Result<T>& outcome) {
  std::cout << "-> " << what << "\n";
  if (!outcome) {
    std::cout << "<- error: " << outcome.error().message << "\n";
    return false;
  }
  std::cout << "<- " << godwit::json::encode(*outcome) << "\n";
  return true;
}

/// The person at this end: says yes to everything.
godwit::Result<godwit::ElicitResult> answer(const godwit::ElicitRequest& question) {
  std::cout << "   the server asks: " << question.message << "\n";
  godwit::ElicitResult yes{.action = godwit::ElicitAction::accept};
  auto schema = godwit::json::parse(question.requestedSchema.text);
  if (!schema) return yes;
  yes.content.emplace();
  for (const auto& [name, field] : *(*schema)["properties"].as_object()) {
    const bool flag = field["type"] == "boolean";
    yes.content->set(name, flag ? godwit::json::Value(true) : godwit::json::Value("Ada"));
  }
  std::cout << "   we answer: " << godwit::json::encode(*yes.content) << "\n";
  return yes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> command(argv + 1, argv + argc);
  if (command.empty()) {
    command = {(std::filesystem::path(argv[0]).parent_path() / "everything").string(), "--stdio"};
  }

  godwit::ClientOptions options;
  options.info = {.name = "hello_client", .version = "1.0.0"};
  options.elicit = answer;
  auto client = godwit::Client::spawn(command, options);
  if (!client) {
    std::cerr << "hello_client: " << client.error().message << "\n";
    return 1;
  }
  std::cout << "connected to " << client->server_info().name << ", which speaks "
            << client->revision() << "\n";

  auto tools = client->list_tools();
  if (!tools) {
    std::cerr << "hello_client: " << tools.error().message << "\n";
    return 1;
  }
  std::cout << "it has " << tools->size() << " tools:\n";
  for (const godwit::Tool& tool : *tools) {
    std::cout << "   " << tool.name << ": " << tool.description.value_or("") << "\n";
  }

  bool good = show("echo hello", client->call<std::string>("echo", Echo{.message = "hello"}));
  auto stats = client->call<Statistics>("statistics", Numbers{.numbers = {1, 2, 3, 4}});
  good = show("statistics of 1, 2, 3, 4", stats) && good;
  good = show("buy a kite", client->call<std::string>("buy", Purchase{.item = "a kite"})) && good;
  good = show("read everything://readme", client->read("everything://readme")) && good;
  good = show("prompt bird", client->prompt("bird", {{"name", "godwit"}})) && good;
  return good ? 0 : 1;
}
