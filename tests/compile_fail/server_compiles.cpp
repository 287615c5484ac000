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

void offer(godwit::Server& server) {
  server.tool("plain", "", [](Input in) { return in.text; });
  server.tool("blocking", "", godwit::blocking([](Owned in) { return in.text; }));
  server.tool("later", "", [](Owned, godwit::Reply<std::string>) {});
  server.tool("asks", "", [](godwit::Context& cx) -> godwit::Result<std::string> {
    auto form = cx.elicit<Form>("form", "Who?");
    if (!form) return form.error();
    return form->value().name;
  });
  server.prompt("prompt", "", [](Owned in) { return in.text; });
}
