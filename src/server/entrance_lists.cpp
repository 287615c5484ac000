// Lists, and completion.
#include "entrance.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// The values that one completion may carry.
constexpr std::size_t most_completions = 100;

}  // namespace

void Entrance::list(ListKind kind, bool offered) {
  if (!offered) return unknown_method();
  std::optional<std::string_view> cursor;
  if (parts_.cursor) {
    cursor = parts_.cursor.as_string();
    if (!cursor) return call_.fail(rpc::invalid_params("/cursor: expected a string"));
  }
  if (!session_.server().policies.empty() || !session_.catalog()->providers(kind).empty()) {
    return own_list(kind, cursor);
  }
  const auto page = session_.catalog()->page(kind, codec(), cursor);
  if (!page) return bad_cursor();
  json::Writer& writer = begin();
  writer.raw(*page);
  end(writer, &session_.server().options.cache);
}

void Entrance::bad_cursor() {
  call_.fail(rpc::invalid_params("/cursor: not one of this list; begin again without a cursor"));
}

void Entrance::own_list(ListKind kind, std::optional<std::string_view> cursor) {
  std::optional<ListPlace> place = ListPlace{};
  if (cursor) place = read_cursor(kind, facts(), *cursor);
  const auto& catalog = session_.catalog();
  if (!place || place->source > catalog->providers(kind).size()) return bad_cursor();
  std::string entries;
  if (place->source == 0) {
    const std::optional<std::size_t> from = place->position();
    auto page = from ? visible_page(session_.server(), *catalog, kind, codec(), facts(), *from)
                     : std::nullopt;
    if (!page) return bad_cursor();
    if (page->next) {
      return end_own_list(
          kind, page->entries,
          write_cursor(kind, facts(), ListPlace{.cursor = std::to_string(*page->next)}));
    }
    entries = std::move(page->entries);
  }
  const std::size_t first = place->source == 0 ? 0 : place->source - 1;
  const std::shared_ptr<const Entry> provided = provided_list(*catalog, kind, first);
  if (!provided) return end_own_list(kind, entries, std::nullopt);
  const std::string query =
      place->source == 0 ? "{}" : R"({"cursor":)" + json::quote(place->cursor) + "}";
  json::Document document;
  request_.arguments = made_arguments(document, query);
  Frame frame(session_, call_, request_, provided);
  frame.set_listed(std::move(entries));
  frame.run();
}

void Entrance::end_own_list(ListKind kind, std::string_view entries,
                            const std::optional<std::string>& cursor) {
  json::Writer& writer = begin();
  write_own_list(writer, kind, entries, cursor);
  const CacheHint cache{.ttl = session_.server().options.cache.ttl};
  end(writer, &cache);
}

void Entrance::complete() {
  if (!capabilities().completions) return unknown_method();
  struct Params {
    CompletionReference ref{};
    CompletionArgument argument{};
    std::optional<CompletionContext> context{};
  };
  const auto params = read<Params>();
  if (!params) return;
  const auto& catalog = session_.catalog();
  const auto* prompt = std::get_if<PromptReference>(&params->ref);
  const auto names_resource = [&](const std::string& uri) {
    return may_see(catalog->find_template(uri)) || may_see(catalog->resource(uri));
  };
  const bool known = prompt ? may_see(catalog->prompt(prompt->name))
                            : names_resource(std::get<ResourceReference>(params->ref).uri);
  if (!known) {
    return call_.fail(rpc::invalid_params("/ref: there is no such " +
                                          std::string(prompt ? "prompt" : "resource template")));
  }
  Completion found;
  if (const Completer* completer = catalog->completer(params->ref, params->argument.name)) {
    CompletionQuery query{.argument = params->argument.name, .value = params->argument.value};
    if (params->context && params->context->arguments) query.context = *params->context->arguments;
    found = (*completer)(query);
  }
  if (found.values.size() > most_completions) {
    if (!found.total) found.total = static_cast<std::int64_t>(found.values.size());
    found.hasMore = true;
    found.values.resize(most_completions);
  }
  json::Writer& writer = begin();
  writer.key("completion");
  json::write(writer, found);
  end(writer);
}

}  // namespace godwit::inline v0::detail::server
