// Each line is a message to a server that has one of everything. Whatever comes, every message that
// leaves is one line of JSON, each request is answered at most once, and no answer has a code that
// belongs to this process.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzzed_server.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/peer.hpp"

namespace {

using godwit::json::Value;

void check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t answers = 0;
  godwit::rpc::MessageSink sink([&](std::string_view message) {
    check(message.find('\n') == std::string_view::npos);
    const auto value = godwit::json::parse(message);
    check(value.has_value());
    const Value& batch = *value;
    const auto one = [&](const Value& answer) {
      check(answer["jsonrpc"] == "2.0");
      if (answer.contains("method")) return;
      ++answers;
      check(answer.contains("result") != answer.contains("error"));
      if (const auto code = answer["error"]["code"].as_int64()) {
        check(*code != -32000 && *code != -32001 && *code >= -32768);
      }
    };
    if (const auto* list = batch.as_array()) {
      for (const Value& answer : *list) one(answer);
    } else {
      one(batch);
    }
  });
  fuzzed::FuzzedServer fuzzed;
  godwit::rpc::Peer peer(sink, fuzzed.server.router(), fuzzed.server.peer_options());
  std::size_t lines = 0;
  while (!input.empty() && lines < 64) {
    const std::size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    if (line.empty()) continue;
    ++lines;
    peer.receive(line);
    peer.process();
  }
  peer.close();
  check(answers <= lines * 100);  // a batch has at most 100
  return 0;
}
