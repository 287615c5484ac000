// Drives any MCP server: lists everything and uses everything that it lists. Prints one line per
// check and exits non-zero if one failed.
//
//   interop_client automatic|stateful|stateless COMMAND [ARGUMENTS...]
//   interop_client automatic|stateful|stateless http://HOST:PORT/PATH
#include <algorithm>
#include <atomic>
#include <chrono>
#include <godwit/godwit.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using godwit::json::Value;

int failures = 0;

void check(const std::string& name, bool good, const std::string& why = {}) {
  std::cout << (good ? "ok " : "not ok ") << name;
  if (!good && !why.empty()) std::cout << ": " << why;
  std::cout << std::endl;
  if (!good) ++failures;
}
template <class T>
bool check(const std::string& name, const godwit::Result<T>& outcome) {
  check(name, outcome.has_value(), outcome ? "" : outcome.error().message);
  return outcome.has_value();
}

/// A value that the schema takes, made from it: enough for servers that want to be tried.
Value sample_of(const Value& schema, int depth = 0) {
  if (depth > 8) return nullptr;
  for (const char* keyword : {"default", "const"}) {
    if (schema.contains(keyword)) return Value(schema[keyword]);
  }
  if (schema["examples"].size() > 0) return Value(schema["examples"][0]);
  if (schema["enum"].size() > 0) return Value(schema["enum"][0]);
  for (const char* keyword : {"oneOf", "anyOf"}) {
    if (schema[keyword].size() > 0) return sample_of(schema[keyword][0], depth + 1);
  }
  const std::string type(schema["type"].as_string().value_or("object"));
  if (type == "string") {
    if (schema["format"] == "uri") return "https://example.com/";
    if (schema["format"] == "email") return "ada@example.com";
    if (schema["format"] == "date") return "2026-07-28";
    const auto least = schema["minLength"].as_int64().value_or(0);
    return std::string(static_cast<std::size_t>(std::max<std::int64_t>(least, 5)), 'a');
  }
  if (type == "integer" || type == "number") {
    if (schema.contains("minimum")) return Value(schema["minimum"]);
    return 1;
  }
  if (type == "boolean") return true;
  if (type == "array") {
    godwit::json::Array items;
    if (schema.contains("items")) items.push_back(sample_of(schema["items"], depth + 1));
    return items;
  }
  if (type == "null") return nullptr;
  godwit::json::Object object;
  if (const auto* required = schema["required"].as_array()) {
    for (const Value& name : *required) {
      const std::string key(name.as_string().value_or(""));
      object.set(key, sample_of(schema["properties"][key], depth + 1));
    }
  }
  return object;
}

struct Heard {
  std::atomic<int> questions{0};
  std::atomic<int> logs{0};
  std::atomic<int> progress{0};
  std::atomic<int> tools{0};
  std::atomic<int> updates{0};
};

/// What the server tells by itself comes when it comes.
bool soon(const std::atomic<int>& count) {
  for (int waited = 0; count == 0 && waited < 5000; waited += 10) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return count > 0;
}

godwit::ClientOptions make_options(std::string_view lifecycle, Heard& heard) {
  godwit::ClientOptions options;
  options.info = {.name = "godwit-interop", .version = "1.0.0"};
  options.lifecycle = lifecycle == "stateful"    ? godwit::Lifecycle::stateful
                      : lifecycle == "stateless" ? godwit::Lifecycle::stateless
                                                 : godwit::Lifecycle::automatic;
  options.elicit_urls = true;
  options.elicit =
      [&heard](const godwit::ElicitRequest& ask) -> godwit::Result<godwit::ElicitResult> {
    ++heard.questions;
    godwit::ElicitResult answer{.action = godwit::ElicitAction::accept};
    if (const auto schema = godwit::json::parse(ask.requestedSchema.text)) {
      answer.content = *sample_of(*schema).as_object();
    }
    return answer;
  };
  options.sample =
      [&heard](const godwit::SamplingRequest&) -> godwit::Result<godwit::SamplingResult> {
    ++heard.questions;
    return godwit::SamplingResult{.content = godwit::text("from the model"), .model = "none"};
  };
  options.roots = std::vector<godwit::Root>{{.uri = "file:///tmp", .name = "tmp"}};
  options.on_log = [&heard](const godwit::LoggingMessage&) { ++heard.logs; };
  return options;
}

/// Only for the servers of this folder, which have tools that change something. The rest of the
/// tools is used while somebody listens, and `grow` is one of them.
std::optional<godwit::Listen> listen_to(godwit::Client& client, Heard& heard) {
  const auto tools = client.list_tools();
  if (!tools ||
      std::ranges::none_of(*tools, [](const godwit::Tool& tool) { return tool.name == "touch"; })) {
    return std::nullopt;
  }
  auto listening = client.listen(
      {.toolsListChanged = true, .resourceSubscriptions = std::vector<std::string>{"test://text"}},
      {.tools_changed = [&heard] { ++heard.tools; },
       .resource_updated =
           [&heard](const std::string& uri) {
             if (uri == "test://text") ++heard.updates;
           }});
  if (!check("listen", listening)) return std::nullopt;
  return std::optional(*std::move(listening));
}

/// Tools that work only as tasks, which this client does not offer. They are refused: by the
/// specification with method not found, by the SDK with a result that says so.
bool needs_tasks(const godwit::Tool& tool) { return tool.name == "simulate-research-query"; }
/// Tools that are there to fail, or that want to reach the network.
bool may_fail(const std::string& name) { return name == "fail" || name == "gzip-file-as-resource"; }

/// Answers that are known, by the tool and the text that it must give for the sample.
struct Known {
  std::string_view tool;
  std::string_view text;
};
constexpr Known known[] = {{"echo", "aaaaa"}, {"add", "2"}, {"get-sum", "2"}, {"cut", "resumed"}};

void use_tools(godwit::Client& client, Heard& heard) {
  const auto tools = client.list_tools();
  if (!check("list tools", tools)) return;
  for (const godwit::Tool& tool : *tools) {
    const auto schema = godwit::json::parse(tool.inputSchema.text);
    if (!check("schema of " + tool.name, schema)) continue;
    godwit::RequestOptions options;
    options.timeout = std::chrono::seconds(20);
    options.on_progress = [&heard](const godwit::Progress&) { ++heard.progress; };
    const auto result =
        client.call_tool(tool.name, {sample_of(*schema).dump()}, std::move(options));
    if (needs_tasks(tool)) {
      check("call " + tool.name + " without a task is refused",
            !result || result->isError.value_or(false));
      continue;
    }
    if (!check("call " + tool.name, result)) continue;
    const std::string text = godwit::joined_text(*result);
    std::cout << "   " << text.substr(0, 100) << "\n";
    check(tool.name + " did not fail", may_fail(tool.name) || !result->isError.value_or(false),
          text);
    for (const Known& one : known) {
      if (tool.name != one.tool) continue;
      check(tool.name + " gives what it should", text.find(one.text) != text.npos, text);
    }
  }
  check("unknown tool is refused", !client.call_tool("no such tool").has_value() ||
                                       client.call_tool("no such tool")->isError.value_or(false));
}

void use_resources(godwit::Client& client) {
  if (!client.server_capabilities().resources) return;
  if (const auto resources = client.list_resources(); check("list resources", resources)) {
    for (const godwit::Resource& resource : *resources) {
      check("read " + resource.uri, client.read(resource.uri));
    }
  }
  if (const auto templates = client.list_resource_templates(); check("list templates", templates)) {
    for (const godwit::ResourceTemplate& one : *templates) {
      const auto uri = godwit::UriTemplate::parse(one.uriTemplate);
      if (!check("parse " + one.uriTemplate, uri)) continue;
      godwit::json::Object values;
      for (const std::string& name : uri->variables()) values.set(name, "1");
      const auto expanded = uri->expand(values);
      if (check("expand " + one.uriTemplate, expanded)) check("read it", client.read(*expanded));
    }
  }
  check("unknown resource is refused", !client.read("nowhere://at/all").has_value());
}

void use_prompts(godwit::Client& client) {
  if (!client.server_capabilities().prompts) return;
  const auto prompts = client.list_prompts();
  if (!check("list prompts", prompts)) return;
  for (const godwit::Prompt& prompt : *prompts) {
    std::map<std::string, std::string> arguments;
    for (const godwit::PromptArgument& argument :
         prompt.arguments.value_or(std::vector<godwit::PromptArgument>{})) {
      // A number is a text, too: servers that read ids out of arguments are content.
      if (argument.required.value_or(false)) arguments[argument.name] = "1";
    }
    if (arguments.contains("resourceType")) arguments["resourceType"] = "Text";
    check("prompt " + prompt.name, client.prompt(prompt.name, arguments));
    if (client.server_capabilities().completions && !arguments.empty()) {
      check("complete " + prompt.name,
            client.complete(godwit::PromptReference{.name = prompt.name},
                            {.name = arguments.begin()->first, .value = ""}));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: interop_client automatic|stateful|stateless COMMAND [ARGUMENTS...]|URL\n";
    return 2;
  }
  Heard heard;
  const std::string_view target = argv[2];
  auto client = target.starts_with("http://")
                    ? godwit::Client::connect(target, make_options(argv[1], heard))
                    : godwit::Client::spawn(std::vector<std::string>(argv + 2, argv + argc),
                                            make_options(argv[1], heard));
  if (!check("connect", client)) return 1;
  std::cout << "   " << client->server_info().name << " speaks " << client->revision() << "\n";
  check("ping", client->ping());
  if (client->server_capabilities().logging) {
    check("set log level", client->set_log_level(godwit::LoggingLevel::debug));
  }
  if (const bool stateless = client->revision() >= "2026"; argv[1] != std::string("automatic")) {
    check("the era asked for", stateless == (argv[1] == std::string("stateless")));
  }
  auto listening = listen_to(*client, heard);
  use_tools(*client, heard);
  if (listening) {
    check("told of the tool that grew", soon(heard.tools));
    check("told of what was touched", soon(heard.updates));
    listening.reset();
  }
  use_resources(*client);
  use_prompts(*client);
  std::cout << "   it asked " << heard.questions << " times, logged " << heard.logs
            << " lines, reported progress " << heard.progress << " times\n";
  return failures == 0 ? 0 : 1;
}
