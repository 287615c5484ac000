#include "gate.hpp"

#include "entrance.hpp"

namespace godwit::inline v0::detail::server {

using mcp::Operation;

void Entrance::run() {
  request_.method = call_.context().method();
  request_.params = call_.params();
  request_.meta = parts_.meta;
  request_.facts = mcp::find_facts(parts_.meta);
  if ((parts_.may_have_twins || request_.facts.may_have_twins) && call_.refuse_twins()) return;
  mcp::Incoming message{.method = request_.method,
                        .params = request_.params,
                        .meta = request_.meta,
                        .facts = request_.facts,
                        .wants_answer = call_.wants_answer(),
                        .fields = fields()};
  mcp::Admission admission = eras_.admit(message, session_.codec());
  if (admission.error) return call_.fail(*std::move(admission.error));
  request_.codec = admission.codec;
  if (!admission.method) return custom();
  operate(admission.method->operation);
}

void Entrance::operate(Operation operation) {
  switch (operation) {
    case Operation::call_tool:
      return call_tool();
    case Operation::get_prompt:
      return get_prompt();
    case Operation::read_resource:
      return read_resource();
    case Operation::list_tools:
      return list(ListKind::tools, capabilities().tools.has_value());
    case Operation::list_prompts:
      return list(ListKind::prompts, capabilities().prompts.has_value());
    case Operation::list_resources:
      return list(ListKind::resources, capabilities().resources.has_value());
    case Operation::list_templates:
      return list(ListKind::templates, capabilities().resources.has_value());
    case Operation::complete:
      return complete();
    case Operation::initialize:
      return initialize();
    case Operation::discover:
      return discover();
    case Operation::ping:
      return empty();
    case Operation::set_level:
      return set_level();
    case Operation::subscribe:
      return subscribe(true);
    case Operation::unsubscribe:
      return subscribe(false);
    case Operation::listen:
      return listen();
    case Operation::initialized:
      session_.set_initialized();
      return noted();
    case Operation::cancelled:
      return cancelled();
    default:
      return noted();
  }
}

void Entrance::initialize() {
  if (call_.in_batch()) {
    return call_.fail(rpc::invalid_request("\"initialize\" must not be part of a batch"));
  }
  if (session_.codec()) {
    return call_.fail(rpc::invalid_request(
        "this session has had its handshake; a second \"initialize\" needs a new one"));
  }
  Result<mcp::Handshake> handshake = codec().read_handshake(request_.params, eras_);
  if (!handshake) return call_.fail(std::move(handshake).error());
  if (auto error = introduction_error(handshake->client)) return call_.fail(*std::move(error));
  const mcp::Codec& agreed = *handshake->codec;
  const auto promised = session_.catalog()->capabilities();
  const Server::Impl& server = session_.server();
  // Written before anything is agreed on: if this throws, the client may try again.
  agreed.write_handshake_result(call_.begin_result(),
                                {.info = server.info,
                                 .capabilities = *promised,
                                 .instructions = server.options.instructions});
  session_.set_identity(facts().identity);
  if (auto error = session_.begin(
          agreed, promised,
          Caller{std::move(handshake->client), std::move(handshake->capabilities)})) {
    return call_.fail(*std::move(error));
  }
  rpc::Rules rules = session_.peer().rules();
  rules.batch = agreed.carrier_rules().batches;
  session_.peer().set_rules(rules);
  call_.end_result();
}

std::optional<Error> Entrance::introduction_error(const Implementation& client) {
  const std::size_t most = limits().name_bytes;
  std::optional<Error> error = too_long("/clientInfo/name", client.name, most);
  if (!error) error = too_long("/clientInfo/version", client.version, most);
  if (!error) error = too_long("/clientInfo/title", client.title.value_or(""), most);
  if (!error) {
    error = too_long("/clientInfo/websiteUrl", client.websiteUrl.value_or(""), limits().uri_bytes);
  }
  return error;
}

void Entrance::discover() {
  const Server::Impl& server = session_.server();
  json::Writer& writer = begin();
  codec().write_discovery(writer,
                          {.info = server.info,
                           .capabilities = capabilities(),
                           .instructions = server.options.instructions},
                          eras_);
  end(writer, &server.options.cache);
}

void Entrance::set_level() {
  if (!capabilities().logging) return unknown_method();
  struct Params {
    LoggingLevel level{};
  };
  if (const auto params = read<Params>()) {
    session_.set_level(params->level);
    empty();
  }
}

void Entrance::cancelled() {
  const auto id = rpc::Id::from(request_.params.find("requestId"));
  if (id) {
    session_.end_listen(*id);
    session_.peer().cancel_incoming(*id);
  }
  noted();
}

void Entrance::custom() {
  request_.arguments = request_.params;
  const Extension* extension =
      session_.catalog()->extension_of(&Extension::methods, request_.method);
  if (extension && call_.wants_answer() && !declares(extension->id)) {
    auto error =
        codec().missing_capability("the extension " + extension->id,
                                   R"({"extensions":{)" + json::quote(extension->id) + ":{}}}");
    return error ? call_.fail(*std::move(error)) : unknown_method();
  }
  std::shared_ptr<const Entry> entry;
  const MethodEntry* method = session_.catalog()->method(request_.method, entry);
  if (method && method->notification != call_.wants_answer()) return work(entry);
  if (call_.wants_answer()) return unknown_method();
  noted();  // notifications nobody knows are ignored
}

rpc::detail::Subject Gate::subject(json::View params) const {
  const Parts parts(params);
  rpc::detail::Subject subject{.arguments = parts.arguments ? parts.arguments : params,
                               .continues = static_cast<bool>(parts.state)};
  if (!parts.name.get(subject.name)) parts.uri.get(subject.name);
  return subject;
}

void Gate::invoke(rpc::detail::Call& call) const {
  auto* const session = static_cast<Session*>(Service::session_of(call.context()));
  if (!session) {
    return call.fail(rpc::internal_error(
        "the connection was made without the options of the server (Server::peer_options)"));
  }
  Entrance(eras_, *session, call).run();
  session->trim();
}

}  // namespace godwit::inline v0::detail::server
