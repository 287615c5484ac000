// Resources and prompts, with completion.
#include <godwit/godwit.hpp>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace conformance {

namespace {

struct Id {
  std::string id{};
};
struct Item {
  std::string id{};
  bool templateTest = true;
  std::string data{};
};
struct Arguments {
  std::string arg1{};
  std::string arg2{};
  static constexpr godwit::Field fields[] = {{"arg1", "First test argument"},
                                             {"arg2", "Second test argument"}};
};
struct Embedded {
  std::string resourceUri{};
  static constexpr godwit::Field fields[] = {{"resourceUri", "URI of the resource to embed"}};
};
struct Details {
  std::string context{};
};

godwit::Completion complete_argument(const godwit::CompletionQuery& query) {
  godwit::Completion found;
  for (const char* value : {"test", "test1", "test2"}) {
    if (std::string_view(value).starts_with(query.value)) found.values.emplace_back(value);
  }
  return found;
}

}  // namespace

void add_resources(godwit::Server& server) {
  server.resource("test://static-text", "Static text",
                  [] { return "This is the content of the static text resource."; },
                  {.description = "A text that never changes", .mimeType = "text/plain"});
  server.resource("test://static-binary", "Static binary",
                  [] {
                    return godwit::BlobResourceContents{
                        .uri = "test://static-binary", .mimeType = "image/png", .blob = dot_png};
                  },
                  {.description = "An image that never changes", .mimeType = "image/png"});
  server.resource("test://watched-resource", "Watched", [] { return "Watched resource content"; },
                  {.description = "To be subscribed to", .mimeType = "text/plain"});
  server.resource_template(
      "test://template/{id}/data", "Template",
      [](Id in) {
        return godwit::json::encode(Item{.id = in.id, .data = "Data for ID: " + in.id});
      },
      {.description = "Data by its id", .mimeType = "application/json"});
}

void add_prompts(godwit::Server& server) {
  server.prompt("test_simple_prompt", "A prompt without arguments",
                [] { return "This is a simple prompt for testing."; });

  server.prompt("test_prompt_with_arguments", "A prompt with two arguments", [](Arguments in) {
    return "Prompt with arguments: arg1='" + in.arg1 + "', arg2='" + in.arg2 + "'";
  });
  server.complete_prompt("test_prompt_with_arguments", "arg1", complete_argument);

  server.prompt(
      "test_prompt_with_embedded_resource", "A prompt with a resource in it", [](Embedded in) {
        return std::vector<godwit::PromptMessage>{
            godwit::user_says(godwit::embed(
                godwit::TextResourceContents{.uri = in.resourceUri,
                                             .mimeType = "text/plain",
                                             .text = "Embedded resource content for testing."})),
            godwit::user_says(godwit::text("Please process the embedded resource above."))};
      });

  server.prompt("test_prompt_with_image", "A prompt with an image in it", [] {
    return std::vector<godwit::PromptMessage>{
        godwit::user_says(godwit::ImageContent{.data = dot_png, .mimeType = "image/png"}),
        godwit::user_says(godwit::text("Please analyze the image above."))};
  });

  server.prompt(
      "test_input_required_result_prompt", "A prompt that asks the person first",
      [](godwit::Context& cx) -> godwit::Result<std::string> {
        auto details = cx.elicit<Details>("user_context", "What context should the prompt use?");
        if (!details) return details.error();
        return "Use this context: " + (details->accepted() ? details->value().context : "none");
      });
}

}  // namespace conformance
