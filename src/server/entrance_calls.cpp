// Calls of tools, prompts and resources, and the rounds that they take.
#include "entrance.hpp"

namespace godwit::inline v0::detail::server {

void Entrance::work(const std::shared_ptr<const Entry>& entry) {
  Frame frame(session_, call_, request_, entry);
  if (session_.restores_runs()) {
    if (auto run = session_.runs().take(rpc::Id::from(call_.id()))) {
      return frame.resume(*std::move(run));
    }
  }
  const mcp::Round round = parts_.responses || parts_.state
                               ? codec().continued(parts_.responses, parts_.state)
                               : mcp::Round();
  if (round) {
    auto asks = resume(round.responses, round.state, *entry);
    if (!asks) return;
    frame.set_asks(std::move(asks));
    if (frame.asks_again()) return;
  }
  frame.run();
}

std::unique_ptr<Asks> Entrance::resume(json::View responses, json::View state, const Entry& entry) {
  if (responses && !responses.is_object()) {
    call_.fail(rpc::invalid_params("/inputResponses: expected an object"));
    return nullptr;
  }
  if (!state) {
    auto asks = std::make_unique<Asks>(Asks::begin());
    asks->take(responses, true);
    return asks;
  }
  Server::Impl& server = session_.server();
  std::optional<std::string> text;
  if (const auto sealed = state.as_string(); sealed && server.options.sealer) {
    text = server.options.sealer->open(*sealed,
                                       state_context(call_.context().facts(), request_, entry));
  }
  if (!text) {
    call_.fail(
        rpc::invalid_params("/requestState: not one that this server gave out for this request"));
    return nullptr;
  }
  Result<Asks> loaded = Asks::load(*text, server.unix_time());
  if (!loaded) {
    call_.fail(std::move(loaded).error());
    return nullptr;
  }
  auto asks = std::make_unique<Asks>(*std::move(loaded));
  asks->take(responses, false);
  std::vector<WireQuestion> again = asks->take_misfits(server.options.log);
  asks->begin_run();
  asks->suspended = !again.empty();
  asks->pending = std::move(again);
  return asks;
}

void Entrance::call_tool() {
  if (session_.only_stateless() && !capabilities().tools) return unknown_method();
  if (!name_agrees()) return;
  std::string_view name;
  if (!parts_.name.get(name)) {
    if (!capabilities().tools) return unknown_method();
    return call_.fail(rpc::invalid_params("/name: expected the name of a tool"));
  }
  const std::shared_ptr<const ToolEntry> tool = session_.catalog()->tool(name);
  const auto unknown = [&] { return unknown_name(EntryKind::tool, name); };
  if (!tool) {
    if (!capabilities().tools) return unknown_method();
    return call_provider(ListKind::tools, OfferKind::tool, name, unknown);
  }
  if (auto error = refused(ask_about(*tool, facts()), unknown)) {
    return call_.fail(*std::move(error));
  }
  request_.arguments = parts_.arguments;
  const rpc::HeaderFields* const said = tool->param_headers.empty() ? nullptr : fields();
  if (said && !agrees(codec().check_arguments(*said, tool->param_headers, request_.arguments))) {
    return;
  }
  if (tool->input && !tool->checks_itself && tool->check_arguments && !arguments_fit(tool)) {
    return;
  }
  work(tool);
}

bool Entrance::arguments_fit(const std::shared_ptr<const ToolEntry>& tool) {
  const json::Validation validation = tool->check(request_.arguments);
  if (validation.ok()) return true;
  json::DecodeFailure failure;
  failure.fail(validation.text());
  Frame(session_, call_, request_, tool).bad_arguments(failure);
  return false;
}

void Entrance::get_prompt() {
  if (!capabilities().prompts) return unknown_method();
  if (!name_agrees()) return;
  std::string_view name;
  if (!parts_.name.get(name)) {
    return call_.fail(rpc::invalid_params("/name: expected the name of a prompt"));
  }
  const std::shared_ptr<const PromptEntry> prompt = session_.catalog()->prompt(name);
  const auto unknown = [&] { return unknown_name(EntryKind::prompt, name); };
  if (!prompt) return call_provider(ListKind::prompts, OfferKind::prompt, name, unknown);
  if (auto error = refused(ask_about(*prompt, facts()), unknown)) {
    return call_.fail(*std::move(error));
  }
  request_.arguments = parts_.arguments;
  if (prompt->prompt.arguments) {
    for (const PromptArgument& argument : *prompt->prompt.arguments) {
      if (argument.required.value_or(false) && !request_.arguments.find(argument.name)) {
        return call_.fail(rpc::invalid_params("/arguments: the prompt needs the argument " +
                                              json::quote(argument.name)));
      }
    }
  }
  work(prompt);
}

void Entrance::read_resource() {
  if (!capabilities().resources) return unknown_method();
  if (!name_agrees()) return;
  if (!parts_.uri.get(request_.uri)) {
    return call_.fail(rpc::invalid_params("/uri: expected the uri of a resource"));
  }
  if (auto error = too_long("/uri", request_.uri, limits().uri_bytes))
    return call_.fail(*std::move(error));
  const auto& catalog = session_.catalog();
  const auto unknown = [&] { return codec().wire_error(not_found(request_.uri)); };
  if (const auto resource = catalog->resource(request_.uri)) {
    if (auto error = refused(ask_about(*resource, facts()), unknown)) {
      return call_.fail(*std::move(error));
    }
    request_.cache = &resource->cache;
    request_.mime_type = &resource->resource.mimeType;
    return work(resource);
  }
  std::map<std::string, std::string> values;
  const auto matched = catalog->match(request_.uri, values);
  if (!matched) {
    return call_provider(ListKind::resources, OfferKind::resource, request_.uri, unknown);
  }
  if (auto error = refused(ask_about(*matched, facts(), request_.uri), unknown)) {
    return call_.fail(*std::move(error));
  }
  request_.cache = &matched->cache;
  request_.mime_type = &matched->resource.mimeType;
  const std::string text = json::encode(values);
  json::Document document;
  request_.arguments = *document.parse(text);
  work(matched);
}

void Entrance::call_provider(ListKind kind, OfferKind offer, std::string_view name,
                             const auto& unknown) {
  const std::shared_ptr<const Entry> provided = provided_call(*session_.catalog(), kind, name);
  if (!provided) return call_.fail(unknown());
  const AccessQuestion question{.kind = offer, .name = name, .facts = facts()};
  if (auto error = refused(question, unknown)) return call_.fail(*std::move(error));
  std::string text =
      std::string(kind == ListKind::resources ? R"({"uri":)" : R"({"name":)") + json::quote(name);
  if (kind != ListKind::resources) {
    text.append(R"(,"arguments":)");
    text.append(parts_.arguments ? parts_.arguments.source() : "{}");
  }
  text.push_back('}');
  json::Document document;
  request_.arguments = made_arguments(document, text);
  aim(request_, *provided);
  work(provided);
}

}  // namespace godwit::inline v0::detail::server
