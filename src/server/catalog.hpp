// What a Server offers: the tables that registration changes, and the snapshots that connections
// read. A snapshot never changes, so a call needs no lock; it is made anew when somebody looks
// after a change.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "godwit/json/schema.hpp"
#include "godwit/mcp/uri_template.hpp"
#include "godwit/server/access_policy.hpp"
#include "godwit/server/server.hpp"
#include "mcp/era/codec.hpp"
#include "mcp/era/stateless_headers.hpp"

namespace godwit::inline v0::detail::server {

/// What an entry is: decides what its handler may answer with, and how that is sent.
enum class EntryKind : std::uint8_t { tool, prompt, resource, custom, list };

struct Provider;

/// What all things that answer calls have in common.
struct Entry {
  explicit Entry(EntryKind kind_) noexcept
      : kind(kind_), own_arguments(kind_ == EntryKind::resource || kind_ == EntryKind::list) {}

  const EntryKind kind;
  std::shared_ptr<const WorkHandler> handler;
  std::optional<Duration> timeout;
  std::size_t concurrency = 0;
  /// Calls that run now.
  mutable std::atomic<std::size_t> running{0};
  /// Changes with what the entry takes: state of a request is bound to it.
  std::string digest;
  /// What the handler takes is no part of the params, but made for it.
  bool own_arguments;

  // Of one that is made for a single call.

  std::shared_ptr<const Provider> provider;
  /// Who is asked if this one does not know the name, or has no more for the list.
  std::shared_ptr<const Entry> next;
};

struct ToolEntry : Entry {
  ToolEntry() noexcept : Entry(EntryKind::tool) {}

  Tool tool;
  std::optional<json::Schema> input;  // to check arguments that the handler does not check itself
  std::optional<json::Schema> output;
  std::vector<mcp::ParamHeader> param_headers;
  bool checks_itself = false;
  bool check_arguments = true;

  /// What the schema says about arguments; those that were left out are an object without members.
  json::Validation check(json::View arguments) const;
};
/// The entry as a tool's; nullptr if it is something else. The only way down from an Entry.
inline const ToolEntry* as_tool(const Entry& entry) noexcept {
  return entry.kind == EntryKind::tool ? static_cast<const ToolEntry*>(&entry) : nullptr;
}

struct PromptEntry : Entry {
  PromptEntry() noexcept : Entry(EntryKind::prompt) {}

  Prompt prompt;
};
struct ResourceEntry : Entry {
  ResourceEntry() noexcept : Entry(EntryKind::resource) {}

  Resource resource;
  CacheHint cache;
};
struct TemplateEntry : Entry {
  TemplateEntry() noexcept : Entry(EntryKind::resource) {}

  ResourceTemplate resource;
  std::optional<UriTemplate> uri;
  CacheHint cache;
};
struct MethodEntry : Entry {
  MethodEntry() noexcept : Entry(EntryKind::custom) {}

  std::string name;
  bool notification = false;
};

enum class ListKind : std::uint8_t { tools, resources, templates, prompts };
/// A provider's part of a list.
struct ListEntry : Entry {
  ListEntry() noexcept : Entry(EntryKind::list) {}

  ListKind list{};
};

inline constexpr std::size_t list_kinds = 4;
/// The member of a result that holds the list.
std::string_view member_name(ListKind kind) noexcept;

/// What the policies of a server are asked.
AccessQuestion ask_about(const ToolEntry& entry, const rpc::Facts& facts);
AccessQuestion ask_about(const PromptEntry& entry, const rpc::Facts& facts);
AccessQuestion ask_about(const ResourceEntry& entry, const rpc::Facts& facts);
AccessQuestion ask_about(const TemplateEntry& entry, const rpc::Facts& facts,
                         std::string_view uri = {});

/// Entries in the order they were first registered, found by name.
template <class E>
class Table {
 public:
  using Ptr = std::shared_ptr<const E>;
  struct Row {
    Ptr entry;
    bool enabled = true;
  };

  void put(const std::string& name, Ptr entry) {
    const auto [at, fresh] = index_.try_emplace(name, rows_.size());
    if (fresh) {
      rows_.push_back({std::move(entry), true});
    } else {
      rows_[at->second] = {std::move(entry), true};
    }
  }
  /// False if there is none of that name; `changed` tells whether anybody saw it.
  bool remove(std::string_view name, bool& changed) {
    const auto at = index_.find(std::string(name));
    if (at == index_.end()) return false;
    const std::size_t position = at->second;
    changed = rows_[position].enabled;
    index_.erase(at);
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(position));
    for (auto& [other, where] : index_) {
      if (where > position) --where;
    }
    return true;
  }
  /// False if there is none of that name; `changed` tells whether it made a difference.
  bool enable(std::string_view name, bool enabled, bool& changed) {
    const auto at = index_.find(std::string(name));
    if (at == index_.end()) return false;
    changed = std::exchange(rows_[at->second].enabled, enabled) != enabled;
    return true;
  }
  /// Also one that is hidden; nullptr if there is none of that name.
  Ptr find(const std::string& name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? nullptr : rows_[at->second].entry;
  }
  std::vector<Ptr> shown() const {
    std::vector<Ptr> out;
    out.reserve(rows_.size());
    for (const Row& row : rows_) {
      if (row.enabled) out.push_back(row.entry);
    }
    return out;
  }

 private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, std::size_t> index_;
};

/// (prompt name or template text, argument)
using CompletionKey = std::pair<std::string, std::string>;

struct Tables {
  Table<ToolEntry> tools;
  Table<PromptEntry> prompts;
  Table<ResourceEntry> resources;
  Table<TemplateEntry> templates;
  std::map<std::string, std::shared_ptr<const MethodEntry>, std::less<>> methods;
  std::map<CompletionKey, Completer> prompt_completers;
  std::map<CompletionKey, Completer> template_completers;
  std::map<std::string, Extension> extensions;
  std::array<std::vector<std::shared_ptr<const Provider>>, list_kinds> providers;
};

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

/// One state of the tables. Shared by all threads.
class Catalog {
 public:
  Catalog(const Tables& tables, const ServerOptions& options);

  std::shared_ptr<const ToolEntry> tool(std::string_view name) const { return find(tools_, name); }
  std::shared_ptr<const PromptEntry> prompt(std::string_view name) const {
    return find(prompts_, name);
  }
  std::shared_ptr<const ResourceEntry> resource(std::string_view uri) const {
    return find(resources_, uri);
  }
  /// The first template that matches, with the values of its variables.
  std::shared_ptr<const TemplateEntry> match(std::string_view uri,
                                             std::map<std::string, std::string>& values) const;
  const MethodEntry* method(std::string_view name, std::shared_ptr<const Entry>& keep) const;
  const Completer* completer(const CompletionReference& reference,
                             const std::string& argument) const;
  /// By its text.
  std::shared_ptr<const TemplateEntry> find_template(std::string_view text) const;
  /// The extension that a method, a value of resultType or a filter of listen belongs to; nullptr
  /// if it belongs to none.
  const Extension* extension_of(std::vector<std::string> Extension::* part,
                                std::string_view name) const;
  const std::map<std::string, Extension>& extensions() const noexcept { return extensions_; }

  const std::shared_ptr<const ServerCapabilities>& capabilities() const noexcept {
    return capabilities_;
  }
  /// The members of a list result, without the braces: `"tools":[…],"nextCursor":"…"`. Made once
  /// per codec and page. Nothing if the cursor is none of ours.
  std::shared_ptr<const std::string> page(ListKind kind, const mcp::Codec& codec,
                                          std::optional<std::string_view> cursor) const;

  const std::vector<std::shared_ptr<const Provider>>& providers(ListKind kind) const noexcept {
    return providers_[static_cast<std::size_t>(kind)];
  }

  // One by one, for lists that are made for one caller.

  std::size_t count(ListKind kind) const;
  AccessQuestion question(ListKind kind, std::size_t i, const rpc::Facts& facts) const;
  void write_entry(json::Writer& writer, ListKind kind, std::size_t i,
                   const mcp::Codec& codec) const;

 private:
  template <class E>
  using Index = std::unordered_map<std::string, std::shared_ptr<const E>, Hash, std::equal_to<>>;

  template <class E>
  static std::shared_ptr<const E> find(const Index<E>& index, std::string_view name) {
    const auto at = index.find(name);
    return at == index.end() ? nullptr : at->second;
  }
  std::string render(ListKind kind, const mcp::Codec& codec, std::size_t from) const;

  std::size_t page_size_;
  std::shared_ptr<const ServerCapabilities> capabilities_;  // shared by those it was promised to
  std::vector<std::shared_ptr<const ToolEntry>> tool_list_;
  std::vector<std::shared_ptr<const PromptEntry>> prompt_list_;
  std::vector<std::shared_ptr<const ResourceEntry>> resource_list_;
  std::vector<std::shared_ptr<const TemplateEntry>> template_list_;
  Index<ToolEntry> tools_;
  Index<PromptEntry> prompts_;
  Index<ResourceEntry> resources_;
  std::map<std::string, std::shared_ptr<const MethodEntry>, std::less<>> methods_;
  std::map<CompletionKey, Completer> prompt_completers_;
  std::map<CompletionKey, Completer> template_completers_;
  std::map<std::string, Extension> extensions_;
  std::array<std::vector<std::shared_ptr<const Provider>>, list_kinds> providers_;

  mutable std::mutex mutex_;  // guards the pages
  mutable std::map<std::pair<const mcp::Codec*, std::size_t>, std::shared_ptr<const std::string>>
      pages_[list_kinds];  // by codec and first entry
};

}  // namespace godwit::inline v0::detail::server
