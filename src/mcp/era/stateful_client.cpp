// A client's side of the stateful era.
#include <utility>

#include "eras.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "stateful.hpp"
#include "stateful_words.hpp"

namespace godwit::inline v0::mcp {

void StatefulCodec::write_handshake(json::Writer& writer, const ClientCapabilities& capabilities,
                                    const Implementation& client) const {
  writer.begin_object();
  writer.key("protocolVersion");
  writer.value(revision());
  writer.key("capabilities");
  json::write(writer, stateful::fitted(capabilities, traits_));
  writer.key("clientInfo");
  json::write(writer, stateful::fitted(client, traits_));
  writer.end_object();
}

Result<Welcome> StatefulCodec::read_handshake_result(json::View result, const Eras& eras) const {
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
  const Codec* const agreed = eras.by_handshake(answer->protocolVersion);
  if (!agreed) {
    std::string spoken;
    for (const Codec* const each : eras.by_handshake()) {
      spoken += (spoken.empty() ? "" : ", ") + std::string(each->revision());
    }
    return rpc::internal_error(
        "the server wants to speak revision " +
        json::quote(std::string_view(answer->protocolVersion).substr(0, 100)) +
        ", which this client does not; it speaks " + spoken +
        ". Update the client, or configure the server for one of these");
  }
  Welcome welcome;
  welcome.codec = agreed;
  welcome.capabilities = std::move(answer->capabilities);
  welcome.server = read_implementation(result.find("serverInfo"));
  welcome.instructions = std::move(answer->instructions).value_or("");
  welcome.revisions.push_back(std::move(answer->protocolVersion));
  return welcome;
}

std::optional<Operation> StatefulCodec::message_for(Wish wish) const noexcept {
  switch (wish) {
    case Wish::sign_of_life:
      return Operation::ping;
    case Wish::log_level:
      return Operation::set_level;
    case Wish::tell_of_roots:
      return Operation::roots_changed;
    case Wish::description:
    case Wish::changes:
      break;
  }
  return std::nullopt;
}

std::string_view StatefulCodec::missing(Operation operation,
                                        const ServerCapabilities& server) const {
  if (operation == Operation::complete && !traits_.completions) return {};
  return Codec::missing(operation, server);
}

std::string StatefulCodec::completion(const CompletionReference& reference,
                                      const CompletionArgument& argument,
                                      const CompletionContext& context) const {
  if (traits_.titles) return Codec::completion(reference, argument, context);
  CompletionReference fitting = reference;
  if (auto* const prompt = std::get_if<PromptReference>(&fitting)) prompt->title.reset();
  return Codec::completion(fitting, argument, {});
}

Result<std::string> StatefulCodec::sampling_result(SamplingResult result) const {
  auto* const blocks = std::get_if<std::vector<SamplingBlock>>(&result.content);
  if (blocks && !traits_.sampling_tools) {
    if (blocks->size() != 1) {
      return rpc::internal_error(
          "the answer has several blocks, which the server's revision has no words for");
    }
    SamplingBlock only = std::move(blocks->front());
    std::visit([&](auto& block) { result.content = std::move(block); }, only);
  }
  return Codec::sampling_result(std::move(result));
}

std::string StatefulCodec::roots_result(std::vector<Root> roots) const {
  if (!traits_.titles) {
    for (Root& root : roots) root._meta.reset();
  }
  return Codec::roots_result(std::move(roots));
}

}  // namespace godwit::inline v0::mcp
