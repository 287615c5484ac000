// A server that several people share: a span and an audit line for each call, tools that only some
// may see, and tools that are different for each caller.
//
//   audit --stdio | --http 127.0.0.1:8080 | …
#include <godwit/godwit.hpp>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>

namespace {

/// Of one call, from its arrival to its answer.
struct Span {
  std::string name{};
  std::string parent{};
};

std::string_view name_of(const godwit::rpc::Identity* caller) {
  return caller ? std::string_view(caller->subject) : "somebody";
}

}  // namespace

int main(int argc, char** argv) {
  godwit::Server server{{.name = "audit", .version = "1.0.0"}};
  std::mutex one_at_a_time;   // with --threads connections are served by several
  using godwit::json::quote;  // what a client sends must not look like a line of ours

  server.use<Span>(
      {.before = [](godwit::rpc::IncomingCall& call, Span& span) -> godwit::rpc::Verdict {
         span.name = std::string(call.method()) + " " + std::string(call.name());
         const auto parent = call.params().find("_meta").find("traceparent").as_string();
         span.parent = parent.value_or("none");
         return {};
       },
       .after =
           [&](godwit::rpc::Outcome& outcome, Span& span) {
             const std::lock_guard lock(one_at_a_time);
             std::cerr << "span: " << quote(span.name) << ", parent " << quote(span.parent) << ", "
                       << (outcome.error() ? "failed" : "went well") << '\n';
           }});

  server.use({.before = {}, .after = [&](godwit::rpc::Outcome& outcome) {
                if (outcome.name().empty()) return;
                const std::lock_guard lock(one_at_a_time);
                std::cerr << "audit: " << name_of(outcome.identity()) << " called "
                          << quote(outcome.name()) << ": " << godwit::describe(outcome) << '\n';
              }});

  server.restrict({.decide = [](const godwit::AccessQuestion& ask) -> godwit::Result<void> {
    if (!ask.name.starts_with("admin_")) return {};
    if (ask.identity() && ask.identity()->may("admin")) return {};
    return godwit::error("only administrators may use " + std::string(ask.name));
  }});
  server.tool("admin_reset", "Forgets everything", [] { return "done"; });
  server.tool("divide", "Fails now and then", []() -> godwit::Result<std::string> {
    return godwit::tool_error("there is nothing to divide");
  });

  server.tools(
      [](godwit::PageQuery, godwit::Context& cx) {
        godwit::ToolPage page;
        page.tools.push_back({.name = "notes_of_" + std::string(name_of(cx.identity())),
                              .description = "Your notes, and nobody else's"});
        return page;
      },
      [](godwit::ToolCall call, godwit::Context& cx) -> godwit::Result<std::string> {
        if (call.name != "notes_of_" + std::string(name_of(cx.identity()))) {
          return godwit::not_found(call.name);
        }
        return "no notes yet";
      });

  return godwit::serve(server, argc, argv);
}
