#include "response_cache.hpp"

#include <algorithm>

#include "godwit/json/document.hpp"

namespace godwit::inline v0::detail::client {

namespace {

bool belongs_to(std::string_view part, std::string_view whole) { return part.starts_with(whole); }

}  // namespace

bool ResponseCache::keeps(mcp::Operation operation) noexcept {
  using enum mcp::Operation;
  return operation == discover || operation == list_tools || operation == list_resources ||
         operation == list_templates || operation == list_prompts || operation == read_resource;
}

std::string ResponseCache::key(mcp::Operation operation, std::string_view members) {
  return std::to_string(static_cast<unsigned>(operation)) + ' ' + std::string(members);
}

const std::string* ResponseCache::find(const std::string& key, TimePoint now) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  if (found->second.until > now) return &found->second.result;
  erase(found);
  return nullptr;
}

void ResponseCache::put(std::string key, mcp::Operation operation, std::string_view result,
                        TimePoint until) {
  if (const auto old = entries_.find(key); old != entries_.end()) erase(old);
  const std::size_t size = key.size() + result.size();
  if (size > most_bytes / 4) return;  // one answer must not push out all others
  while (!entries_.empty() && (entries_.size() >= most_entries || bytes_ + size > most_bytes)) {
    erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  }
  entries_.emplace(std::move(key), Entry{operation, std::string(result), until});
  bytes_ += size;
}

void ResponseCache::drop(mcp::Operation operation) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    at = at->second.operation == operation ? erase(at) : std::next(at);
  }
}

void ResponseCache::drop_reads(std::string_view uri) {
  json::Document document;
  for (auto at = entries_.begin(); at != entries_.end();) {
    bool gone = false;
    if (at->second.operation == mcp::Operation::read_resource) {
      const std::string members = '{' + at->first.substr(at->first.find(' ') + 1) + '}';
      const auto params = document.parse(members);
      const auto read = params ? params->find("uri").as_string() : std::nullopt;
      gone = !read || belongs_to(*read, uri) || belongs_to(uri, *read);
    }
    at = gone ? erase(at) : std::next(at);
  }
}

void ResponseCache::clear() {
  entries_.clear();
  bytes_ = 0;
}

ResponseCache::Entries::iterator ResponseCache::erase(Entries::iterator at) {
  bytes_ -= at->first.size() + at->second.result.size();
  return entries_.erase(at);
}

}  // namespace godwit::inline v0::detail::client
