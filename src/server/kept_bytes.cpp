#include "kept_bytes.hpp"

#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Of a block on the heap, and of a node of a tree or a hash table around what it holds.
constexpr std::size_t block = 16;
constexpr std::size_t node = 48;

std::size_t text_size(std::size_t capacity) noexcept {
  return capacity > std::string().capacity() ? capacity + 1 + block : 0;
}
std::size_t heap(const std::string& text) noexcept { return text_size(text.capacity()); }
std::size_t heap(const std::optional<std::string>& text) noexcept { return text ? heap(*text) : 0; }

std::size_t heap(const json::Value& value) noexcept;

std::size_t heap(const json::Object& object) noexcept {
  std::size_t bytes = block;
  for (const json::Member& member : object) {
    // Twice, since members that were added one by one have room for as many again.
    bytes += 2 * sizeof(json::Member) + heap(member.key) + heap(member.value);
  }
  return bytes;
}
std::size_t heap(const std::optional<json::Object>& object) noexcept {
  return object ? heap(*object) : 0;
}

std::size_t heap(const json::Value& value) noexcept {
  if (const json::Object* object = value.as_object()) {
    return sizeof(json::Object) + block + heap(*object);
  }
  if (const json::Array* array = value.as_array()) {
    std::size_t bytes = sizeof(json::Array) + 2 * block + array->capacity() * sizeof(json::Value);
    for (const json::Value& item : *array) bytes += heap(item);
    return bytes;
  }
  if (const auto text = value.as_string()) {
    return sizeof(std::string) + block + text_size(text->size());
  }
  const std::string_view digits = value.big_integer();
  return digits.empty() ? 0 : sizeof(std::string) + block + text_size(digits.size());
}

std::size_t heap(const std::optional<std::map<std::string, json::Value>>& members) noexcept {
  std::size_t bytes = 0;
  if (!members) return bytes;
  for (const auto& [key, value] : *members) {
    bytes += node + block + sizeof(std::string) + sizeof(json::Value) + heap(key) + heap(value);
  }
  return bytes;
}

std::size_t heap(const Implementation& info) noexcept {
  std::size_t bytes = heap(info.name) + heap(info.version) + heap(info.title) +
                      heap(info.description) + heap(info.websiteUrl);
  if (!info.icons) return bytes;
  bytes += info.icons->capacity() * sizeof(Icon) + block;
  for (const Icon& icon : *info.icons) {
    bytes += heap(icon.src) + heap(icon.mimeType);
    if (!icon.sizes) continue;
    bytes += icon.sizes->capacity() * sizeof(std::string) + block;
    for (const std::string& size : *icon.sizes) bytes += heap(size);
  }
  return bytes;
}

}  // namespace

std::size_t kept_size(std::string_view text) noexcept {
  return node + block + sizeof(std::string) + text_size(text.size());
}

std::size_t kept_size(const Caller& caller) noexcept {
  const ClientCapabilities& can = caller.capabilities;
  std::size_t bytes = sizeof(Caller) + block + heap(caller.info);
  if (can.sampling) bytes += heap(can.sampling->context) + heap(can.sampling->tools);
  if (can.elicitation) bytes += heap(can.elicitation->form) + heap(can.elicitation->url);
  return bytes + heap(can.experimental) + heap(can.extensions);
}

std::optional<Error> too_long(std::string_view where, std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::nullopt;
  return rpc::invalid_params(std::string(where) + ": " + std::to_string(text.size()) +
                             " bytes are too long; at most " + std::to_string(most) + " are taken");
}

std::optional<Error> KeptBytes::add(std::size_t bytes) {
  // What does not fit into its own session is the client's mistake. What does not fit because of
  // others may fit later.
  if (bytes > most_) {
    return rpc::invalid_params("a server would have to keep " + std::to_string(bytes) +
                               " bytes of this; at most " + std::to_string(most_) +
                               " are kept for a session");
  }
  if (here_ + bytes > most_) {
    return rpc::invalid_params("of this session " + std::to_string(here_) +
                               " bytes are kept already, and at most " + std::to_string(most_) +
                               " are; end a subscription first");
  }
  if (all_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_of_all_) {
    all_.fetch_sub(bytes, std::memory_order_relaxed);
    return rpc::internal_error("busy: too much is kept for all sessions together; try again later");
  }
  here_ += bytes;
  return std::nullopt;
}

void KeptBytes::remove(std::size_t bytes) noexcept {
  here_ -= bytes;
  all_.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace godwit::inline v0::detail::server
