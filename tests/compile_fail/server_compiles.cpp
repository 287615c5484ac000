// expect: compiles
#include <godwit/server/server.hpp>

enum class Colour { red, green };
struct Input {
  std::string_view text{};
};
struct Owned {
  std::string text{};
};
struct Form {
  std::string name{};
  std::optional<int> age{};
  std::vector<Colour> colours{};
};

std::string free_function(Owned in) { return in.text; }
std::string noexcept_function(Owned in) noexcept { return in.text; }
struct Functor {
  std::string operator()(Owned in) const& noexcept { return in.text; }
};

void offer(godwit::Server& server) {
  server.tool("function", "", free_function);
  server.tool("pointer", "", &noexcept_function);
  server.tool("blocking_function", "", godwit::blocking(free_function));
  server.tool("blocking_pointer", "", godwit::blocking(&free_function));
  server.tool("blocking_noexcept", "", godwit::blocking(noexcept_function));
  server.tool("functor", "", Functor{});
  server.tool("blocking_functor", "", godwit::blocking(Functor{}));
  const std::function<std::string(Owned)> held = free_function;
  server.tool("held", "", held);
  server.tool("blocking_held", "", godwit::blocking(held));
  server.prompt("blocking_prompt", "", godwit::blocking(free_function));
  server.tool("plain", "", [](Input in) { return in.text; });
  server.tool("blocking", "", godwit::blocking([](Owned in) { return in.text; }));
  server.tool("later", "", [](Owned, godwit::Reply<std::string>) {});
  server.tool("asks", "", [](godwit::Context& cx) -> godwit::Result<std::string> {
    auto form = cx.elicit<Form>("form", "Who?");
    if (!form) return form.error();
    return form->value().name;
  });
  server.prompt("prompt", "", [](Owned in) { return in.text; });
  server.prompt("message", "", [] { return godwit::user_says(godwit::TextContent{}); });
  server.resource("a:b", "blob", [] { return godwit::Blob{}; });
  server.method("acme/result", [] { return godwit::ToolResult{}; });
  server.method("acme/none", [](godwit::Reply<void>) {});
}
