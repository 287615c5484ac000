// Each line is what a server says to a client that asks for everything. "@" in front of a line puts
// the id of the client's newest request into it. Whatever comes, every call has exactly one outcome
// and every message that leaves is one line of JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/client/client_session.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/peer.hpp"

namespace {

using godwit::ClientSession;
using godwit::Result;

void check(bool good) {
  if (!good) std::abort();
}

/// Counts the outcomes of the calls that were made.
struct Tally {
  int made = 0;
  int done = 0;
};

void ask_for_everything(ClientSession& session, Tally& tally) {
  const auto count = [&tally](const auto&) { ++tally.done; };
  tally.made += 8;
  session.list_tools(count);
  session.call_tool("a", {"{}"}, count);
  session.call<int>("b", godwit::json::Object{}, count);
  session.list_resources(count);
  session.read_resource("a:b", count);
  session.list_prompts(count);
  session.get_prompt("p", {{"x", "y"}}, count);
  session.ping(count);
}

godwit::ClientOptions options() {
  godwit::ClientOptions out;
  out.elicit = [](const godwit::ElicitRequest&) -> Result<godwit::ElicitResult> {
    return godwit::ElicitResult{.action = godwit::ElicitAction::accept,
                                .content = godwit::json::Object{{"name", "n"}}};
  };
  out.sample = [](const godwit::SamplingRequest&) -> Result<godwit::SamplingResult> {
    return godwit::SamplingResult{.content = godwit::text("t"), .model = "m"};
  };
  out.roots.emplace();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string newest = "1";
  godwit::rpc::MessageSink sink([&](std::string_view message) {
    check(message.find('\n') == std::string_view::npos);
    const auto value = godwit::json::parse(message);
    check(value.has_value());
    if (value->contains("id") && value->contains("method")) newest = (*value)["id"].dump();
  });
  Tally tally;
  {
    ClientSession session(options());
    godwit::rpc::Peer peer(sink, session.router(), session.peer_options());
    std::optional<godwit::Listen> listening;
    int started = 0;
    session.start(peer, [&](Result<void> ready) {
      ++started;
      if (!ready) return;
      ask_for_everything(session, tally);
      listening = session.listen({.toolsListChanged = true}, {});
    });
    for (int lines = 0; !input.empty() && lines < 64; ++lines) {
      const std::size_t end = input.find('\n');
      std::string line(input.substr(0, end));
      input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
      if (line.starts_with('@')) {
        line.erase(0, 1);
        if (line.starts_with('{')) line.insert(1, "\"id\":" + newest + ",");
      }
      peer.receive(line);
      peer.process();
    }
    peer.close();
    check(started == 1);
    check(tally.done == tally.made);
  }
  check(tally.done == tally.made);
  return 0;
}
