#include "access.hpp"

#include <charconv>

#include "asks.hpp"
#include "godwit/base/base64.hpp"
#include "godwit/json/document.hpp"

namespace godwit::inline v0::detail::server {

namespace {

const json::Object* meta_of(const std::optional<json::Object>& meta) {
  return meta ? &*meta : nullptr;
}

}  // namespace

std::optional<Refusal> refusal_of(const Server::Impl& server, const AccessQuestion& question) {
  for (const AccessPolicy& policy : server.policies) {
    if (Result<void> verdict = policy.decide(question); !verdict) {
      return Refusal{std::move(verdict).error(), policy.hide};
    }
  }
  return std::nullopt;
}

std::string caller_key(const rpc::Facts& facts) {
  if (!facts.identity) return {};
  std::string text;
  json::Writer writer(text);
  writer.begin_array();
  writer.value(facts.identity->issuer);
  writer.value(facts.identity->subject);
  writer.value(facts.identity->client);
  writer.end_array();
  return digest_of(text);
}

std::optional<std::size_t> ListPlace::position() const {
  std::size_t from = 0;
  if (cursor.empty()) return from;
  const char* const end = cursor.data() + cursor.size();
  const auto [at, error] = std::from_chars(cursor.data(), end, from);
  if (source != 0 || error != std::errc() || at != end) return std::nullopt;
  return from;
}

std::string write_cursor(ListKind kind, const rpc::Facts& facts, const ListPlace& place) {
  std::string text;
  json::Writer writer(text);
  writer.begin_array();
  writer.value(member_name(kind));
  writer.value(caller_key(facts));
  writer.value(place.source);
  writer.value(place.cursor);
  writer.end_array();
  return base64(text);
}

std::optional<ListPlace> read_cursor(ListKind kind, const rpc::Facts& facts,
                                     std::string_view cursor) {
  const std::optional<std::string> text = from_base64(cursor);
  if (!text) return std::nullopt;
  json::Document document;
  const Result<json::View> parsed = document.parse(*text);
  if (!parsed || !parsed->is_array() || parsed->size() != 4) return std::nullopt;
  auto part = parsed->items().begin();
  if ((*part).as_string() != member_name(kind)) return std::nullopt;
  if ((*++part).as_string() != caller_key(facts)) return std::nullopt;
  ListPlace place;
  const auto source = (*++part).as_uint64();
  const auto rest = (*++part).as_string();
  if (!source || !rest) return std::nullopt;
  place.source = *source;
  place.cursor = *rest;
  return place;
}

std::optional<VisiblePage> visible_page(const Server::Impl& server, const Catalog& catalog,
                                        ListKind kind, const mcp::Codec& codec,
                                        const rpc::Facts& facts, std::size_t from) {
  const std::size_t page_size = server.options.page_size;
  // Only places where a page begins, counted among what the caller sees: a cursor tells nobody how
  // much there is that it does not see.
  if (from > 0 && (page_size == 0 || from % page_size != 0)) return std::nullopt;
  VisiblePage page;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < catalog.count(kind); ++i) {
    if (refusal_of(server, catalog.question(kind, i, facts))) continue;
    if (seen++ < from) continue;
    if (page_size > 0 && seen > from + page_size) {
      page.next = from + page_size;
      break;
    }
    if (!page.entries.empty()) page.entries.push_back(',');
    json::Writer entry(page.entries);
    catalog.write_entry(entry, kind, i, codec);
  }
  if (seen < from) return std::nullopt;
  return page;
}

AccessQuestion Catalog::question(ListKind kind, std::size_t i, const rpc::Facts& facts) const {
  switch (kind) {
    case ListKind::tools:
      return ask_about(*tool_list_[i], facts);
    case ListKind::resources:
      return ask_about(*resource_list_[i], facts);
    case ListKind::templates:
      return ask_about(*template_list_[i], facts);
    case ListKind::prompts:
      break;
  }
  return ask_about(*prompt_list_[i], facts);
}

AccessQuestion ask_about(const ToolEntry& entry, const rpc::Facts& facts) {
  return {.kind = OfferKind::tool,
          .name = entry.tool.name,
          .meta = meta_of(entry.tool._meta),
          .facts = facts};
}
AccessQuestion ask_about(const PromptEntry& entry, const rpc::Facts& facts) {
  return {.kind = OfferKind::prompt,
          .name = entry.prompt.name,
          .meta = meta_of(entry.prompt._meta),
          .facts = facts};
}
AccessQuestion ask_about(const ResourceEntry& entry, const rpc::Facts& facts) {
  return {.kind = OfferKind::resource,
          .name = entry.resource.uri,
          .meta = meta_of(entry.resource._meta),
          .facts = facts};
}
AccessQuestion ask_about(const TemplateEntry& entry, const rpc::Facts& facts,
                         std::string_view uri) {
  return {.kind = OfferKind::resource_template,
          .name = entry.resource.uriTemplate,
          .uri = uri,
          .meta = meta_of(entry.resource._meta),
          .facts = facts};
}

}  // namespace godwit::inline v0::detail::server
