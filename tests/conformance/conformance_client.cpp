// The client that the official conformance suite runs: one scenario per start, named by the
// environment. Says what went wrong on stderr and exits with 1.
//
//   MCP_CONFORMANCE_SCENARIO=NAME conformance_client URL
#include <cstdlib>
#include <godwit/godwit.hpp>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using godwit::Client;
using godwit::RawJson;

/// Nothing can be done about an error here: main() shows it.
[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }
template <class T>
T must(godwit::Result<T> outcome) {
  return std::move(outcome).value();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// What MCP_CONFORMANCE_CONTEXT holds for the scenarios that have one.
struct ToolCall {
  std::string name{};
  RawJson arguments{};
};
struct Scenario {
  std::vector<ToolCall> toolCalls{};
};

struct Numbers {
  double a{};
  double b{};
};
struct Region {
  std::string region{};
};
struct Schema {
  RawJson schema{};
};

godwit::ClientOptions make_options() {
  godwit::ClientOptions options;
  options.info = {.name = "godwit-conformance", .version = "1.0.0"};
  options.lifecycle = environment("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28"
                          ? godwit::Lifecycle::stateless
                          : godwit::Lifecycle::stateful;
  options.log = godwit::Log::to_stderr(godwit::LogLevel::warning);
  return options;
}

Client connect(const std::string& url, const godwit::ClientOptions& options) {
  return must(Client::connect(url, options));
}

void list_tools(const std::string& url) { must(connect(url, make_options()).list_tools()); }

/// For servers that answer this method without having said that they have any tools.
void say_hello(const std::string& url) {
  must(connect(url, make_options()).request("tools/list", RawJson{"{}"}));
}

void call_a_tool(const std::string& url) {
  Client client = connect(url, make_options());
  must(client.list_tools());
  const auto sum = must(client.call<std::string>("add_numbers", Numbers{.a = 5, .b = 3}));
  if (sum.find('8') == sum.npos) fail("5 and 3 gave: " + sum);
}

/// Accepts a form without filling anything in: the defaults are the library's business.
void accept_defaults(const std::string& url) {
  godwit::ClientOptions options = make_options();
  options.elicit = [](const godwit::ElicitRequest&) -> godwit::Result<godwit::ElicitResult> {
    return godwit::ElicitResult{.action = godwit::ElicitAction::accept};
  };
  Client client = connect(url, options);
  must(client.list_tools());
  must(client.call_tool("test_client_elicitation_defaults"));
}

/// The stream breaks off before the answer, which comes on another one.
void come_back(const std::string& url) {
  Client client = connect(url, make_options());
  must(client.list_tools());
  must(client.call_tool("test_reconnection"));
}

/// Requests that want an answer before they are done. Before the first is answered, an unrelated
/// tool is called: nothing of the one may get into the other.
void answer_questions(const std::string& url) {
  Client* connected = nullptr;
  bool unrelated_called = false;
  godwit::ClientOptions options = make_options();
  options.elicit = [&](const godwit::ElicitRequest&,
                       godwit::InputReply<godwit::ElicitResult> reply) {
    auto accept = [reply = std::move(reply)](godwit::Result<godwit::ToolResult> other) mutable {
      if (!other) return reply(std::move(other).error());
      reply(godwit::ElicitResult{.action = godwit::ElicitAction::accept,
                                 .content = godwit::json::Object{{"confirmed", true}}});
    };
    if (std::exchange(unrelated_called, true)) return accept(godwit::ToolResult{});
    connected->call_tool_async("test_mrtr_unrelated", {}, std::move(accept));
  };
  Client client = connect(url, options);
  connected = &client;
  must(client.list_tools());
  for (const char* tool :
       {"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_no_result_type"}) {
    must(client.call_tool(tool));
  }
  if (!unrelated_called) fail("nothing was asked");
}

void use_everything(const std::string& url) {
  Client client = connect(url, make_options());
  for (const godwit::Tool& tool : must(client.list_tools())) {
    must(client.call_tool(tool.name));
  }
  for (const godwit::Resource& resource : must(client.list_resources())) {
    must(client.read(resource.uri));
  }
  for (const godwit::Prompt& prompt : must(client.list_prompts())) {
    must(client.prompt(prompt.name));
  }
}

void make_given_calls(const std::string& url) {
  const auto scenario =
      must(godwit::json::decode<Scenario>(environment("MCP_CONFORMANCE_CONTEXT")));
  if (scenario.toolCalls.empty()) fail("MCP_CONFORMANCE_CONTEXT names no calls");
  Client client = connect(url, make_options());
  must(client.list_tools());
  for (const ToolCall& call : scenario.toolCalls) {
    must(client.call_tool(call.name, call.arguments));
  }
}

/// Calls whatever is left of a list in which most tools are not to be trusted.
void call_what_is_valid(const std::string& url) {
  Client client = connect(url, make_options());
  for (const godwit::Tool& tool : must(client.list_tools())) {
    must(client.call(tool.name, Region{.region = "us-west1"}));
  }
}

/// Gives a schema back as it was received.
void echo_schema(const std::string& url) {
  Client client = connect(url, make_options());
  for (const godwit::Tool& tool : must(client.list_tools())) {
    if (tool.name != "json_schema_2020_12_tool") continue;
    must(client.call("json_schema_echo", Schema{.schema = tool.inputSchema}));
    return;
  }
  fail("there is no json_schema_2020_12_tool");
}

const std::map<std::string, void (*)(const std::string& url), std::less<>> scenarios = {
    {"initialize", say_hello},
    {"request-metadata", say_hello},
    {"json-schema-ref-no-deref", list_tools},
    {"tools_call", call_a_tool},
    {"elicitation-sep1034-client-defaults", accept_defaults},
    {"sse-retry", come_back},
    {"sep-2322-client-request-state", answer_questions},
    {"http-standard-headers", use_everything},
    {"http-custom-headers", make_given_calls},
    {"http-invalid-tool-headers", call_what_is_valid},
    {"json-schema-2020-12-preservation", echo_schema},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: conformance_client URL\n";
    return 2;
  }
  try {
    const auto known = scenarios.find(environment("MCP_CONFORMANCE_SCENARIO"));
    (known == scenarios.end() ? list_tools : known->second)(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "conformance_client: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
