#include "provider.hpp"

#include "access.hpp"
#include "asks.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Schemas of one provider that are kept compiled, and the longest of them: what is more is
/// compiled for every call.
constexpr std::size_t most_schemas = 256;
constexpr std::size_t longest_schema = 64u << 10;

std::shared_ptr<Entry> make_entry(ListKind kind, std::string_view name) {
  switch (kind) {
    case ListKind::tools: {
      auto entry = std::make_shared<ToolEntry>();
      entry->tool.name = name;
      return entry;
    }
    case ListKind::prompts: {
      auto entry = std::make_shared<PromptEntry>();
      entry->prompt.name = name;
      return entry;
    }
    default: {
      auto entry = std::make_shared<ResourceEntry>();
      entry->resource.uri = name;
      return entry;
    }
  }
}

/// One after the other.
template <class Make>
std::shared_ptr<const Entry> chain(const Catalog& catalog, ListKind kind, std::size_t first,
                                   const Make& make) {
  const auto& providers = catalog.providers(kind);
  std::shared_ptr<const Entry> next;
  for (std::size_t i = providers.size(); i-- > first;) {
    const std::shared_ptr<Entry> entry = make(*providers[i]);
    entry->own_arguments = true;
    entry->provider = providers[i];
    entry->timeout = providers[i]->options.timeout;
    entry->next = std::move(next);
    next = entry;
  }
  return next;
}

/// The text is an object as JSON: it is going to be written as it is.
bool is_object(std::string_view text) {
  json::Document document;
  const Result<json::View> value = document.parse(text);
  return value && value->is_object();
}

/// Makes it fit to be listed; false if it cannot be.
bool repair(Tool& tool, const Log& log) {
  if (tool.inputSchema.text.empty()) tool.inputSchema.text = R"({"type":"object"})";
  const bool good = !tool.name.empty() && is_object(tool.inputSchema.text) &&
                    (!tool.outputSchema || is_object(tool.outputSchema->text));
  if (!good) {
    log.limited(LogLevel::error, "a provider listed the tool " +
                                     json::quote(std::string_view(tool.name).substr(0, 200)) +
                                     ", which has no name or a schema that is no JSON object; it "
                                     "is not shown");
  }
  return good;
}
bool repair(const Prompt& prompt, const Log&) { return !prompt.name.empty(); }
bool repair(const Resource& resource, const Log&) { return !resource.uri.empty(); }

const std::string& key_of(const Tool& tool) { return tool.name; }
const std::string& key_of(const Prompt& prompt) { return prompt.name; }
const std::string& key_of(const Resource& resource) { return resource.uri; }

}  // namespace

Result<std::shared_ptr<const json::Schema>> Provider::compile(const RawJson& schema) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = compiled_.find(schema.text); at != compiled_.end()) return at->second;
  }
  const Result<json::Value> value = json::parse(schema.text);
  if (!value) return value.error();
  Result<json::Schema> compiled = json::Schema::compile(*value);
  if (!compiled) return std::move(compiled).error();
  auto made = std::make_shared<const json::Schema>(*std::move(compiled));
  if (schema.text.size() <= longest_schema) {
    const std::lock_guard lock(mutex_);
    if (compiled_.size() >= most_schemas) compiled_.clear();
    compiled_.emplace(schema.text, made);
  }
  return made;
}

std::shared_ptr<const Entry> provided_call(const Catalog& catalog, ListKind kind,
                                           std::string_view name) {
  return chain(catalog, kind, 0, [&](const Provider& provider) {
    std::shared_ptr<Entry> entry = make_entry(kind, name);
    entry->handler = provider.call;
    // The same for all of them: state that one left is opened before it is known whose it is.
    entry->digest = digest_of("provided " + std::string(name));
    return entry;
  });
}

std::shared_ptr<const Entry> provided_list(const Catalog& catalog, ListKind kind,
                                           std::size_t first) {
  return chain(catalog, kind, first, [&](const Provider& provider) {
    auto entry = std::make_shared<ListEntry>();
    entry->list = kind;
    entry->handler = provider.list;
    return entry;
  });
}

Error unknown_name(EntryKind kind, std::string_view name) {
  if (kind == EntryKind::resource) return not_found(name);
  return rpc::invalid_params("Unknown " + std::string(kind == EntryKind::tool ? "tool" : "prompt") +
                             ": " + json::quote(name.substr(0, 200)));
}

bool is_not_found(const Error& error) noexcept {
  return error.cause == Cause::in_process && error.code == mcp::code::not_found;
}

namespace {

void write_entry(json::Writer& writer, const Tool& tool, const mcp::Codec& codec) {
  codec.write_tool(writer, tool);
}
void write_entry(json::Writer& writer, const Prompt& prompt, const mcp::Codec& codec) {
  codec.write_prompt(writer, prompt);
}
void write_entry(json::Writer& writer, const Resource& resource, const mcp::Codec& codec) {
  codec.write_resource(writer, resource);
}

}  // namespace

bool append_page(std::string& entries, const ListPage& page, ListKind kind,
                 const Server::Impl& server, const Catalog& catalog, const mcp::Codec& codec,
                 const rpc::Facts& facts) {
  const auto append = [&](const auto& list, OfferKind offer, const auto& is_given) {
    for (const auto& each : list) {
      const AccessQuestion question{.kind = offer,
                                    .name = key_of(each),
                                    .meta = each._meta ? &*each._meta : nullptr,
                                    .facts = facts};
      if (is_given(key_of(each)) || refusal_of(server, question)) continue;
      auto entry = each;
      if (!repair(entry, server.options.log)) continue;
      if (!entries.empty()) entries.push_back(',');
      json::Writer writer(entries);
      write_entry(writer, entry, codec);
    }
    return true;
  };
  if (const auto* tools = std::get_if<ToolPage>(&page)) {
    return kind == ListKind::tools &&
           append(tools->tools, OfferKind::tool,
                  [&](std::string_view name) { return catalog.tool(name) != nullptr; });
  }
  if (const auto* prompts = std::get_if<PromptPage>(&page)) {
    return kind == ListKind::prompts &&
           append(prompts->prompts, OfferKind::prompt,
                  [&](std::string_view name) { return catalog.prompt(name) != nullptr; });
  }
  return kind == ListKind::resources &&
         append(std::get<ResourcePage>(page).resources, OfferKind::resource,
                [&](std::string_view uri) { return catalog.resource(uri) != nullptr; });
}

const std::optional<std::string>& next_of(const ListPage& page) {
  return std::visit([](const auto& one) -> const auto& { return one.next; }, page);
}

void write_own_list(json::Writer& writer, ListKind kind, std::string_view entries,
                    const std::optional<std::string>& cursor) {
  writer.key(member_name(kind));
  std::string list = "[";
  writer.raw(list.append(entries).append("]"));
  if (cursor) {
    writer.key("nextCursor");
    writer.value(*cursor);
  }
}

}  // namespace godwit::inline v0::detail::server
