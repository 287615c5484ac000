// Lists that come in pages: one page, or all of them behind one another. A server decides how many
// pages there are, so their number, their entries and bytes, and the time for all of them are
// bounded, and a cursor that comes twice ends it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "godwit/client/client_session.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/rpc/error_code.hpp"
#include "session_state.hpp"

namespace godwit::inline v0::detail::client {

inline constexpr std::size_t most_pages = 1'000;
/// Cursors are kept to notice a repetition; a real one is a number or a key.
inline constexpr std::size_t most_cursor_bytes = 64u << 10;

template <class T>
struct ListOf;
template <>
struct ListOf<Tool> {
  static constexpr auto operation = mcp::Operation::list_tools;
  static constexpr std::string_view member = "tools";
};
template <>
struct ListOf<Resource> {
  static constexpr auto operation = mcp::Operation::list_resources;
  static constexpr std::string_view member = "resources";
};
template <>
struct ListOf<ResourceTemplate> {
  static constexpr auto operation = mcp::Operation::list_templates;
  static constexpr std::string_view member = "resourceTemplates";
};
template <>
struct ListOf<Prompt> {
  static constexpr auto operation = mcp::Operation::list_prompts;
  static constexpr std::string_view member = "prompts";
};

/// Reads one entry; why it is of no use, if it is not.
template <class T>
bool read_entry(json::View entry, T& item, json::DecodeFailure& failure) {
  if (!json::read(entry, item, failure)) return false;
  if constexpr (std::same_as<T, Tool>) {
    if (!entry.find("inputSchema").is_object()) {
      return failure.fail("inputSchema must be an object");
    }
    if (entry.find("outputSchema") && !item.outputSchema) {
      return failure.fail("outputSchema must not be null");
    }
  }
  return true;
}

/// Entries that cannot be read are left out, with one warning for all of them.
template <class T, class State>
Result<Page<T>> read_page(json::View result, State& state) {
  const json::View entries = result.find(ListOf<T>::member);
  if (!entries.is_array()) {
    return rpc::internal_error("the result is not what was expected: /" +
                               std::string(ListOf<T>::member) + ": expected an array");
  }
  Page<T> page;
  page.items.reserve(std::min(entries.size(), state.options.limits.list_entries));
  std::size_t unreadable = 0;
  std::string first_reason;
  for (const json::View entry : entries.items()) {
    T item{};
    json::DecodeFailure failure;
    if (!read_entry(entry, item, failure)) {
      if (++unreadable == 1) {
        first_reason = json::quote(entry.find("name").as_string().value_or("").substr(0, 200)) +
                       ": " + failure.text();
      }
      continue;
    }
    if constexpr (std::same_as<T, Tool>) {
      if (!state.can_call(item.name, entry.find("inputSchema"))) continue;
    }
    page.items.push_back(std::move(item));
  }
  if (unreadable > 0) {
    state.options.log.limited(LogLevel::warning,
                              std::to_string(unreadable) + " of " + std::to_string(entries.size()) +
                                  " " + std::string(ListOf<T>::member) +
                                  " cannot be read and are left out; the first one is " +
                                  first_reason);
  }
  const json::View next = result.find("nextCursor");
  if (next && !next.is_null()) {
    const auto cursor = next.as_string();
    if (!cursor || cursor->size() > most_cursor_bytes) {
      return rpc::internal_error(
          "the result is not what was expected: /nextCursor: expected a "
          "string of at most " +
          std::to_string(most_cursor_bytes) + " bytes");
    }
    page.next.emplace(*cursor);
  }
  return page;
}

/// `done` also gets the size of the page as it came.
template <class T, class State>
ClientCall ask_page(const std::shared_ptr<State>& state, std::optional<std::string> cursor,
                    Function<void(Result<Page<T>>, std::size_t bytes)> done, RequestOptions options,
                    std::uint64_t again = 0, std::shared_ptr<TimePoint> whole_end = {}) {
  std::string members;
  if (cursor) members = "\"cursor\":" + json::quote(*cursor);
  auto read = [state, done = std::move(done)](Result<json::View> outcome) mutable {
    if (!outcome) return done(std::move(outcome).error(), 0);
    const std::size_t bytes = outcome->source().size();
    done(or_out_of_memory([&] { return read_page<T>(*outcome, *state); }), bytes);
  };
  return state->ask(ListOf<T>::operation, {.members = std::move(members)}, std::move(options),
                    std::move(read), again, std::move(whole_end));
}

template <class T, class State>
ClientCall list_page(const std::shared_ptr<State>& state, std::optional<std::string> cursor,
                     Function<void(Result<Page<T>>)> done, RequestOptions options) {
  auto taken = [done = std::move(done)](Result<Page<T>> page, std::size_t) mutable {
    done(std::move(page));
  };
  return ask_page<T>(state, std::move(cursor), std::move(taken), std::move(options));
}

/// A list on its way through the pages. All of them are one call to the program.
/// Shared because the call for each page has it until that is there.
template <class T, class State>
struct Listing : std::enable_shared_from_this<Listing<T, State>> {
  std::shared_ptr<State> state;
  RequestOptions options;
  Function<void(Result<std::vector<T>>)> done;
  std::vector<T> items;
  std::unordered_set<std::string> seen;
  std::size_t pages = 0;
  std::size_t bytes = 0;  // the text of the pages
  TimePoint end{};
  std::uint64_t number = 0;

  ClientCall next(std::optional<std::string> cursor) {
    const Duration left = std::max(end - state->now(), Duration(0));
    options.timeout = left;
    options.max_total = left;
    auto more = [self = this->shared_from_this()](Result<Page<T>> page, std::size_t size) {
      try {
        self->take(std::move(page), size);
      } catch (const std::bad_alloc&) {
        self->finish(out_of_memory());
      }
    };
    return ask_page<T>(state, std::move(cursor), std::move(more), options, number,
                       std::shared_ptr<TimePoint>(this->shared_from_this(), &end));
  }

  void take(Result<Page<T>> page, std::size_t size) {
    if (!page) return fail(std::move(page).error());
    const Limits& limits = state->options.limits;
    bytes += size;
    std::string problem;
    if (page->items.size() > limits.list_entries - items.size()) {
      problem = "has more than " + std::to_string(limits.list_entries) + " entries";
    } else if (bytes > limits.list_bytes) {
      problem = "has more than " + std::to_string(limits.list_bytes) + " bytes";
    } else if (page->next && ++pages >= most_pages) {
      problem = "has more than " + std::to_string(most_pages) + " pages";
    } else if (page->next && !seen.insert(*page->next).second) {
      problem = "comes back to a cursor it gave before";
    }
    if (!problem.empty()) {
      return finish(rpc::internal_error("the list of " + std::string(ListOf<T>::member) + " " +
                                        problem + "; fetch it page by page if it is meant so"));
    }
    items.insert(items.end(), std::make_move_iterator(page->items.begin()),
                 std::make_move_iterator(page->items.end()));
    if (!page->next) return finish(std::move(items));
    next(std::move(page->next));
  }

  void fail(Error error) {
    if (pages > 0 && is_timeout(error)) {
      error.message = "the list of " + std::string(ListOf<T>::member) + " did not end in time (" +
                      std::to_string(pages) + " pages came); fetch it page by page, or give it " +
                      "more time with RequestOptions::timeout";
    }
    finish(std::move(error));
  }

  void finish(Result<std::vector<T>> outcome) {
    if (auto last = std::exchange(done, nullptr)) last(std::move(outcome));
  }
};

template <class T, class State>
ClientCall list_all(const std::shared_ptr<State>& state,
                    Function<void(Result<std::vector<T>>)> done, RequestOptions options,
                    std::uint64_t again = 0) {
  auto listing = std::make_shared<Listing<T, State>>();
  listing->state = state;
  listing->options = std::move(options);
  listing->done = std::move(done);
  listing->number = again ? again : ++state->last_number;
  const Duration most = std::min(state->timeout_of(listing->options), listing->options.max_total);
  const TimePoint start = state->now();
  listing->end = most < TimePoint::max() - start ? start + most : TimePoint::max();
  const ClientCall first = listing->next(std::nullopt);
  // From the cache the first page comes at once, and a later one may be under way by now.
  if (first.number != 0 || !state->exchanges.contains(listing->number)) return first;
  return ClientCall{listing->number};
}

}  // namespace godwit::inline v0::detail::client
