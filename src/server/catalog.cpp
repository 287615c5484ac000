#include "catalog.hpp"

#include <charconv>

namespace godwit::inline v0::detail::server {

namespace {

constexpr std::string_view member_names[list_kinds] = {"tools", "resources", "resourceTemplates",
                                                       "prompts"};

// A cursor names the list and the place in it. It is opaque to clients; a list that has changed
// since is read on from the same place.
std::string make_cursor(ListKind kind, std::size_t from) {
  return base64(std::string(member_names[static_cast<std::size_t>(kind)]) + ":" +
                std::to_string(from));
}

std::optional<std::size_t> read_cursor(ListKind kind, std::string_view cursor) {
  const std::optional<std::string> text = from_base64(cursor);
  if (!text) return std::nullopt;
  const std::string_view name = member_names[static_cast<std::size_t>(kind)];
  if (!text->starts_with(name) || text->size() <= name.size() || (*text)[name.size()] != ':') {
    return std::nullopt;
  }
  std::size_t from = 0;
  const char* end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data() + name.size() + 1, end, from);
  if (error != std::errc() || at != end) return std::nullopt;
  return from;
}

}  // namespace

std::string_view member_name(ListKind kind) noexcept {
  return member_names[static_cast<std::size_t>(kind)];
}

json::Validation ToolEntry::check(json::View arguments) const {
  static const json::Value none = json::Object{};
  if (!input) return {};
  return arguments ? input->validate(arguments) : input->validate(none);
}

Catalog::Catalog(const Tables& tables, const ServerOptions& options)
    : page_size_(options.page_size),
      tool_list_(tables.tools.shown()),
      prompt_list_(tables.prompts.shown()),
      resource_list_(tables.resources.shown()),
      template_list_(tables.templates.shown()),
      methods_(tables.methods),
      prompt_completers_(tables.prompt_completers),
      template_completers_(tables.template_completers),
      extensions_(tables.extensions),
      providers_(tables.providers) {
  tools_.reserve(tool_list_.size());
  for (const auto& entry : tool_list_) tools_.emplace(entry->tool.name, entry);
  for (const auto& entry : prompt_list_) prompts_.emplace(entry->prompt.name, entry);
  for (const auto& entry : resource_list_) resources_.emplace(entry->resource.uri, entry);

  ServerCapabilities offered;
  if (options.logging) offered.logging.emplace();
  const auto provided = [&](ListKind kind) { return !providers(kind).empty(); };
  if (!tool_list_.empty() || provided(ListKind::tools))
    offered.tools = ListCapability{.listChanged = true};
  if (!prompt_list_.empty() || provided(ListKind::prompts))
    offered.prompts = ListCapability{.listChanged = true};
  if (!resource_list_.empty() || !template_list_.empty() || provided(ListKind::resources)) {
    offered.resources =
        ResourcesCapability{.subscribe = options.subscriptions, .listChanged = true};
  }
  if (!prompt_completers_.empty() || !template_completers_.empty()) {
    offered.completions.emplace();
  }
  if (!options.experimental.empty()) offered.experimental = options.experimental;
  for (const auto& [id, extension] : extensions_) {
    if (!offered.extensions) offered.extensions.emplace();
    offered.extensions->emplace(id, json::Value(extension.settings));
  }
  capabilities_ = std::make_shared<const ServerCapabilities>(std::move(offered));
}

std::shared_ptr<const TemplateEntry> Catalog::match(
    std::string_view uri, std::map<std::string, std::string>& values) const {
  for (const auto& entry : template_list_) {
    if (auto found = entry->uri->match(uri)) {
      values = *std::move(found);
      return entry;
    }
  }
  return nullptr;
}

const MethodEntry* Catalog::method(std::string_view name,
                                   std::shared_ptr<const Entry>& keep) const {
  const auto at = methods_.find(name);
  if (at == methods_.end()) return nullptr;
  keep = at->second;
  return at->second.get();
}

const Completer* Catalog::completer(const CompletionReference& reference,
                                    const std::string& argument) const {
  const auto* prompt = std::get_if<PromptReference>(&reference);
  const auto& table = prompt ? prompt_completers_ : template_completers_;
  const std::string& name = prompt ? prompt->name : std::get<ResourceReference>(reference).uri;
  const auto at = table.find({name, argument});
  return at == table.end() ? nullptr : &at->second;
}

std::shared_ptr<const TemplateEntry> Catalog::find_template(std::string_view text) const {
  for (const auto& entry : template_list_) {
    if (entry->resource.uriTemplate == text) return entry;
  }
  return nullptr;
}

const Extension* Catalog::extension_of(std::vector<std::string> Extension::* part,
                                       std::string_view name) const {
  for (const auto& [id, extension] : extensions_) {
    for (const std::string& one : extension.*part) {
      if (one == name) return &extension;
    }
  }
  return nullptr;
}

std::size_t Catalog::count(ListKind kind) const {
  switch (kind) {
    case ListKind::tools:
      return tool_list_.size();
    case ListKind::resources:
      return resource_list_.size();
    case ListKind::templates:
      return template_list_.size();
    case ListKind::prompts:
      return prompt_list_.size();
  }
  return 0;
}

std::shared_ptr<const std::string> Catalog::page(ListKind kind, const mcp::Codec& codec,
                                                 std::optional<std::string_view> cursor) const {
  std::size_t from = 0;
  if (cursor) {
    const auto place = read_cursor(kind, *cursor);
    // Only places where a page begins: there are few of those to keep.
    if (!place || page_size_ == 0 || *place % page_size_ != 0 || *place > count(kind)) {
      return nullptr;
    }
    from = *place;
  }
  const std::lock_guard lock(mutex_);
  auto& kept = pages_[static_cast<std::size_t>(kind)][{&codec, from}];
  if (!kept) kept = std::make_shared<const std::string>(render(kind, codec, from));
  return kept;
}

std::string Catalog::render(ListKind kind, const mcp::Codec& codec, std::size_t from) const {
  const std::size_t total = count(kind);
  const std::size_t end = page_size_ == 0 ? total : std::min(total, from + page_size_);
  std::string text;
  json::Writer writer(text);
  writer.key(member_names[static_cast<std::size_t>(kind)]);
  writer.begin_array();
  for (std::size_t i = from; i < end; ++i) write_entry(writer, kind, i, codec);
  writer.end_array();
  if (end < total) {
    writer.key("nextCursor");
    writer.value(make_cursor(kind, end));
  }
  return text;
}

void Catalog::write_entry(json::Writer& writer, ListKind kind, std::size_t i,
                          const mcp::Codec& codec) const {
  switch (kind) {
    case ListKind::tools:
      return codec.write_tool(writer, tool_list_[i]->tool);
    case ListKind::resources:
      return codec.write_resource(writer, resource_list_[i]->resource);
    case ListKind::templates:
      return codec.write_template(writer, template_list_[i]->resource);
    case ListKind::prompts:
      return codec.write_prompt(writer, prompt_list_[i]->prompt);
  }
}

}  // namespace godwit::inline v0::detail::server
