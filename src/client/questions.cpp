// What the server asks of the program: read, judged, handed to the program's functions, and their
// answers made ready for the wire. The same for requests of the stateful era and for the rounds of
// the stateless one.
#include <set>
#include <span>
#include <string>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/rpc/error_code.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

using detail::client::Question;

namespace {

Result<Question> read_elicit(json::View params, const ClientCapabilities& declared) {
  struct Wire {
    std::optional<ElicitRequest::Mode> mode{};
    std::string message{};
    std::optional<RawJson> requestedSchema{};
    std::optional<std::string> url{};
    std::optional<std::string> elicitationId{};
  };
  auto wire = json::decode<Wire>(params);
  if (!wire) return rpc::invalid_params(wire.error().message);
  ElicitRequest request;
  request.mode = wire->mode.value_or(ElicitRequest::Mode::form);
  request.message = std::move(wire->message);
  if (request.mode == ElicitRequest::Mode::url) {
    if (!declared.elicitation->takes_urls()) {
      return rpc::invalid_params("this client does not declare elicitation.url");
    }
    if (!wire->url) return rpc::invalid_params("/url: the member is missing");
    request.url = *std::move(wire->url);
    request.elicitationId = std::move(wire->elicitationId).value_or("");
    return Question(std::move(request));
  }
  if (!declared.elicitation->takes_forms()) {
    return rpc::invalid_params("this client does not declare elicitation.form");
  }
  if (!params.find("requestedSchema").is_object()) {
    return rpc::invalid_params("/requestedSchema: expected an object");
  }
  request.requestedSchema = *std::move(wire->requestedSchema);
  return Question(std::move(request));
}

Result<Question> read_sampling(json::View params, const ClientCapabilities& declared) {
  auto request = json::decode<SamplingRequest>(params);
  if (!request) return rpc::invalid_params(request.error().message);
  if ((request->tools || request->toolChoice) && !declared.sampling->tools) {
    return rpc::invalid_params("this client does not declare sampling.tools");
  }
  return Question(*std::move(request));
}

void fill_in_defaults(const json::Value& schema, json::Object& content) {
  const json::Object* properties = schema["properties"].as_object();
  if (!properties) return;
  std::set<std::string> given;
  for (const json::Member& member : content) given.insert(member.key);
  for (const json::Member& property : *properties) {
    const json::Object* described = property.value.as_object();
    const json::Value* value = described ? described->find("default") : nullptr;
    if (value && given.insert(property.key).second) content.append(property.key, *value);
  }
}

}  // namespace

Result<Question> ClientSession::State::read_question(mcp::Operation operation,
                                                     json::View params) const {
  using enum mcp::Operation;
  const auto undeclared = [&] { return rpc::method_not_found(codec->name_of(operation)); };
  if (operation == elicit) {
    if (!capabilities.elicitation) return undeclared();
    return read_elicit(params, capabilities);
  }
  if (operation == create_message) {
    if (!capabilities.sampling) return undeclared();
    return read_sampling(params, capabilities);
  }
  if (operation == list_roots && capabilities.roots)
    return Question(detail::client::RootsQuestion{});
  return undeclared();
}

void ClientSession::State::ask_program(Question question, std::stop_token stop,
                                       Function<void(Result<std::string>)> done) {
  const auto self = shared_from_this();
  constexpr std::string_view complaint = "the function that answers the server threw";
  if (auto* form = std::get_if<ElicitRequest>(&question)) {
    auto request = std::make_shared<const ElicitRequest>(std::move(*form));
    auto deliver = [self, request, done = std::move(done)](Result<ElicitResult> result) mutable {
      if (!result) return done(std::move(result).error());
      done(or_out_of_memory([&] { return self->answer_form(*request, *std::move(result)); }));
    };
    InputReply<ElicitResult> reply(peer->poster(), std::move(deliver), stop);
    return run(complaint, options.elicit, *request, std::move(reply));
  }
  if (auto* sampling = std::get_if<SamplingRequest>(&question)) {
    auto deliver = [self, done = std::move(done)](Result<SamplingResult> result) mutable {
      if (!result) return done(std::move(result).error());
      done(or_out_of_memory([&] { return self->codec->sampling_result(*std::move(result)); }));
    };
    InputReply<SamplingResult> reply(peer->poster(), std::move(deliver), stop);
    return run(complaint, options.sample, *sampling, std::move(reply));
  }
  auto deliver = [self, done = std::move(done)](Result<std::vector<Root>> roots) mutable {
    if (!roots) return done(std::move(roots).error());
    done(or_out_of_memory(
        [&]() -> Result<std::string> { return self->codec->roots_result(*std::move(roots)); }));
  };
  InputReply<std::vector<Root>> reply(peer->poster(), std::move(deliver), stop);
  Function<void()> answer = [&] {
    reply(options.list_roots ? options.list_roots() : *options.roots);
  };
  run(complaint, answer);
}

Result<std::string> ClientSession::State::answer_form(const ElicitRequest& request,
                                                      ElicitResult result) const {
  if (result.action != ElicitAction::accept || request.mode == ElicitRequest::Mode::url) {
    result.content.reset();
    return json::encode(result);
  }
  if (!result.content) result.content.emplace();
  const auto schema = json::parse(request.requestedSchema.text);
  if (!schema) return std::move(schema).error();
  if (options.apply_defaults) fill_in_defaults(*schema, *result.content);
  const auto compiled = json::Schema::compile(*schema, {.trusted = false});
  if (!compiled) {
    options.log.limited(
        LogLevel::warning,
        "the schema of a form cannot be used, so what was filled in is not checked: " +
            compiled.error().message);
    return json::encode(result);
  }
  const json::Validation validation = compiled->validate(json::Value(*result.content));
  if (validation) return json::encode(result);
  options.log.limited(LogLevel::error,
                      "the answer to a form does not fit its schema and is sent as cancelled: " +
                          validation.text());
  return json::encode(ElicitResult{.action = ElicitAction::cancel});
}

}  // namespace godwit::inline v0
