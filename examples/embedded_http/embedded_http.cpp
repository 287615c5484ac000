// A server inside a program that has an HTTP stack already: each request is handed over as it came
// and gives a response. The stack here is a stand-in, Framework; yours has other names for the same
// things.
#include <godwit/godwit.hpp>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

struct Question {
  std::string text{};
};

// What a web framework looks like from the inside: requests in, responses out, a thread for each.
struct FrameworkRequest {
  std::string method{};
  std::string target{};
  std::map<std::string, std::string> headers{};
  std::string body{};
};
struct FrameworkResponse {
  int status = 0;
  std::map<std::string, std::string> headers{};
  std::string body{};
};

FrameworkResponse serve(godwit::BlockingEndpoint& endpoint, const FrameworkRequest& from) {
  std::vector<godwit::http::Field> fields;
  for (const auto& [name, value] : from.headers) fields.push_back({name, value});
  const godwit::http::Response response =
      endpoint.handle({.method = from.method,
                       .target = from.target,
                       .fields = godwit::http::FieldsView(fields),
                       .body = from.body});
  FrameworkResponse to{.status = response.status, .headers = {}, .body = response.body};
  for (const auto& [name, value] : response.fields) to.headers[name] = value;
  return to;
}

}  // namespace

int main() {
  godwit::Server server{{.name = "oracle", .version = "1.0.0"}};
  server.tool("ask", "Knows the answer", [](Question in) { return "42, as for " + in.text; });
  godwit::BlockingEndpoint endpoint(server);

  const FrameworkRequest request{
      .method = "POST",
      .target = "/mcp",
      .headers = {{"Host", "localhost"},
                  {"Content-Type", "application/json"},
                  {"Accept", "application/json, text/event-stream"},
                  {"MCP-Protocol-Version", std::string(godwit::revisions().front())},
                  {"Mcp-Method", "tools/call"},
                  {"Mcp-Name", "ask"}},
      .body = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",)"
              R"("arguments":{"text":"life"},"_meta":{)"
              R"("io.modelcontextprotocol/protocolVersion":")" +
              std::string(godwit::revisions().front()) +
              R"(","io.modelcontextprotocol/clientCapabilities":{}}}})"};
  const FrameworkResponse response = serve(endpoint, request);
  std::cout << response.status << " " << response.headers.at("Content-Type") << "\n"
            << response.body << "\n";
  return response.status == 200 ? 0 : 1;
}
