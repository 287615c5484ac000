// Asks the person at the other end before it does something. Written once, as a plain function; it
// works the same for a client of 2025, which gets a request, and for one of 2026, which gets an
// answer that asks for input.
//
//   elicitation [--stdio | --tcp HOST:PORT | --unix PATH]
#include <godwit/godwit.hpp>

struct Deploy {
  std::string env{};
};
struct Confirm {
  bool sure{};
  std::optional<std::string> note{};

  static constexpr godwit::Field fields[] = {{"sure", "Really deploy?"},
                                             {"note", "For the release notes"}};
};

namespace {
std::string start_release(const std::string& env) {
  static int number = 0;
  return env + "-" + std::to_string(++number);
}
}  // namespace

int main(int argc, char** argv) {
  godwit::Server server{{.name = "deploy", .version = "1.0.0"}};

  server.tool("deploy", "Deploys after a confirmation",
              [](Deploy in, godwit::Context& cx) -> godwit::Result<std::string> {
                auto answer = cx.elicit<Confirm>("confirm", "Deploy to " + in.env + "?");
                if (!answer) return answer.error();  // not answered yet, or it failed: pass it on
                if (!answer->accepted() || !answer->value().sure) return "not deployed";
                // Never repeated by replay.
                auto id = cx.once("release", [&] { return start_release(in.env); });
                if (!id) return id.error();
                return "deployed " + *id;
              });

  return godwit::serve(server, argc, argv);
}
