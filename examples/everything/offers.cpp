// Resources, templates and prompts, with completion.
#include <godwit/godwit.hpp>
#include <map>
#include <string>
#include <vector>

#include "tools.hpp"

namespace everything {

namespace {

const std::vector<std::string>& birds() {
  static const std::vector<std::string> names = {"avocet", "dunlin", "godwit", "knot",
                                                 "sanderling"};
  return names;
}

godwit::Completion birds_like(const godwit::CompletionQuery& query) {
  godwit::Completion found;
  for (const std::string& bird : birds()) {
    if (bird.starts_with(query.value)) found.values.push_back(bird);
  }
  return found;
}

struct Bird {
  std::string name{};
};
struct Review {
  std::string code{};
  std::optional<std::string> language{};
  static constexpr godwit::Field fields[] = {{"code", "What to look at"}};
};

}  // namespace

void add_resources(godwit::Server& server) {
  server.resource(
      "everything://readme", "readme", [] { return "Read me first."; },
      {.title = "Read me",
       .description = "What this is",
       .mimeType = "text/plain",
       .cache = {.ttl = std::chrono::minutes(1), .scope = godwit::CacheScope::public_}});
  server.resource("everything://dot.png", "dot",
                  [] { return godwit::Blob{std::string(dot_png())}; }, {.mimeType = "image/png"});
  server.resource_template("everything://birds/{name}", "bird",
                           [](Bird bird) -> godwit::Result<std::string> {
                             for (const std::string& known : birds()) {
                               if (known == bird.name) return "The " + bird.name + " is a wader.";
                             }
                             return godwit::not_found("everything://birds/" + bird.name);
                           },
                           {.mimeType = "text/plain"});
  server.complete_template("everything://birds/{name}", "name", birds_like);

  server.tool("touch", "Says that the readme has changed", [&server] {
    server.resource_updated("everything://readme");
    return "touched";
  });
}

void add_prompts(godwit::Server& server) {
  server.prompt("greet", "A prompt without arguments", [] { return "Please greet everybody."; });
  server.prompt("review", "Asks for a review of code", [](Review in) {
    return std::vector<godwit::PromptMessage>{
        godwit::user_says(godwit::text("Review this " + in.language.value_or("C++") + " code:")),
        godwit::user_says(godwit::text(in.code)),
        godwit::assistant_says(godwit::text("I will look at it."))};
  });
  server.prompt("bird", "About a bird, with its page attached", [](Bird bird) {
    return std::vector<godwit::PromptMessage>{
        godwit::user_says(godwit::text("What do you know of the " + bird.name + "?")),
        godwit::user_says(godwit::embed(
            godwit::TextResourceContents{.uri = "everything://birds/" + bird.name,
                                         .mimeType = "text/plain",
                                         .text = "The " + bird.name + " is a wader."}))};
  });
  server.complete_prompt("bird", "name", birds_like);
}

}  // namespace everything
