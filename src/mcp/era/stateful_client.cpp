#include "stateful_client.hpp"

#include "../encode.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::mcp {

void write_initialize(json::Writer& writer, const Dialect& offer,
                      const ClientCapabilities& capabilities, const Implementation& client) {
  writer.begin_object();
  writer.key("protocolVersion");
  writer.value(offer.revision);
  writer.key("capabilities");
  json::write(writer, fitted(capabilities, offer));
  writer.key("clientInfo");
  write_implementation(writer, client, offer);
  writer.end_object();
}

Result<Welcome> read_initialize_result(json::View result) {
  struct Initialized {
    std::string protocolVersion{};
    ServerCapabilities capabilities{};
    std::optional<std::string> instructions{};
  };
  auto answer = json::decode<Initialized>(result);
  if (!answer) {
    return rpc::internal_error("the answer to \"initialize\" cannot be read: " +
                               answer.error().message);
  }
  const Dialect* dialect = dialect_of(answer->protocolVersion);
  if (!dialect || dialect->stateless) {
    std::string spoken;
    for (const Dialect& each : stateful_dialects()) {
      spoken += (spoken.empty() ? "" : ", ") + std::string(each.revision);
    }
    return rpc::internal_error(
        "the server wants to speak revision " +
        json::quote(std::string_view(answer->protocolVersion).substr(0, 100)) +
        ", which this client does not; it speaks " + spoken +
        ". Update the client, or configure the server for one of these");
  }
  Welcome welcome;
  welcome.dialect = dialect;
  welcome.capabilities = std::move(answer->capabilities);
  welcome.server = read_implementation(result.find("serverInfo"));
  welcome.instructions = std::move(answer->instructions).value_or("");
  welcome.revisions.push_back(std::move(answer->protocolVersion));
  return welcome;
}

const Dialect& stateful_offer(std::string_view revision) noexcept { return negotiate(revision); }

}  // namespace godwit::inline v0::mcp
