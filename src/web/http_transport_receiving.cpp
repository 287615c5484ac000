// What HttpTransport does with the messages of a server: whose answer it is, and what must be known
// later.
#include <algorithm>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/rpc/message.hpp"
#include "mcp/era/eras.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "transport_impl.hpp"

namespace godwit::inline v0 {

using detail::web::Delivered;
using detail::web::Outgoing;
using detail::web::Post;
using mcp::Operation;

namespace {

/// Visible ASCII.
bool is_session_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Delivered HttpTransport::Impl::deliver(std::string_view text, Post* from) {
  if (phase != Phase::open || !receiver) return Delivered::taken;
  // On the stack: while the receiver works on it, another message may come.
  json::Document document = std::move(incoming);
  Rollback put_back([&] { incoming = std::move(document); });
  const auto parsed = document.parse(text, parse_options);
  if (!parsed) {
    options.log.limited(LogLevel::warning,
                        "the server sent something that is no JSON: " + parsed.error().message);
    return Delivered::no_json;
  }
  const json::View root = *parsed;
  if (root.is_array()) return deliver_batch(root, text, from);
  const rpc::Role role = rpc::role_of(root);
  if (role == rpc::Role::answer) {
    const json::View id = root.find("id");
    if (!id || id.is_null()) return deliver_nameless(root, from);
    if (!rpc::Id::from(id)) return Delivered::no_message;
    if (!settle(root)) {
      options.log.debug("an answer that nobody waits for was ignored");
      return Delivered::unwanted;
    }
  } else if (role == rpc::Role::none) {
    options.log.limited(LogLevel::warning, "the server sent something that is no message: " +
                                               json::quote(text.substr(0, 200)));
    return Delivered::no_message;
  }
  receiver->on_parsed(root);
  return Delivered::taken;
}

Delivered HttpTransport::Impl::deliver_nameless(json::View message, const Post* from) {
  const auto said = detail::web::error_of(message);
  if (!said || !from) return Delivered::no_message;
  const std::vector<rpc::Id> all = from->waiting();
  for (const rpc::Id& id : all) answer(id, *said);
  return Delivered::taken;
}

Delivered HttpTransport::Impl::deliver_batch(json::View batch, std::string_view text,
                                             const Post* from) {
  const mcp::Codec* const agreed = mcp::Eras::built_in().find(revision);
  const bool answers_one = from && from->message().is_batch();
  if (batch.size() == 0) return Delivered::no_message;
  if (answers_one || (agreed && agreed->carrier_rules().batches)) {
    bool good = true;
    for (const json::View entry : batch.items()) {
      const rpc::Role role = rpc::role_of(entry);
      if (role == rpc::Role::answer) settle(entry);
      good = good && role != rpc::Role::none;
    }
    receiver->on_parsed(batch);
    return good ? Delivered::taken : Delivered::no_message;
  }
  options.log.limited(LogLevel::warning,
                      "the server sent a batch, which is not part of this revision");
  // Whoever waits for one of its answers is not left waiting.
  std::vector<PostPtr> answered;
  for (const json::View entry : batch.items()) {
    const auto id = rpc::Id::from(entry.find("id"));
    const auto found = id ? by_id.find(*id) : by_id.end();
    if (found != by_id.end() && found->second.get() != from) answered.push_back(found->second);
  }
  for (const PostPtr& post : answered) post->fail(Delivered::batch, text);
  return Delivered::batch;
}

HttpTransport::Impl::PostPtr HttpTransport::Impl::settle(json::View message) {
  const auto id = rpc::Id::from(message.find("id"));
  const auto found = id ? by_id.find(*id) : by_id.end();
  if (found == by_id.end()) return nullptr;
  const PostPtr post = found->second;
  learn(*post, message);
  by_id.erase(found);
  post->settle(*id);
  return post;
}

void HttpTransport::Impl::answer(const rpc::Id& id, const Error& error) {
  const auto found = by_id.find(id);
  if (found == by_id.end()) return;
  const PostPtr post = found->second;
  by_id.erase(found);
  post->settle(id);
  if (phase == Phase::open && receiver) receiver->on_failure(id, error);
}

void HttpTransport::Impl::learn(const Post& post, json::View answer) {
  const json::View result = answer.find("result");
  const Outgoing& asked = post.message();
  if (asked.is(Operation::initialize)) {
    const auto agreed = result.find("protocolVersion").as_string();
    if (agreed && agreed->size() < 100 && http::is_field_value(*agreed)) revision = *agreed;
  } else if (asked.is(Operation::list_tools) && asked.stateless() && result && asked.is_read) {
    if (asked.first_page) tools.clear();
    tools.learn(result.find("tools"));
  }
}

void HttpTransport::Impl::begin_session(const http::FieldsView& fields) {
  const auto id = fields.find(mcp::header::session);
  session = id && is_session_id(*id) ? std::string(*id) : std::string();
}

}  // namespace godwit::inline v0
