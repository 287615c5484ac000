// The state of a session that is worth saving, as JSON, and a session made from it.
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "godwit/base/rollback.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/writer.hpp"
#include "mcp/era/eras.hpp"
#include "session.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Who somebody is. What else was verified about them is verified anew with each request.
struct SavedIdentity {
  std::string issuer{};
  std::string subject{};
  std::string client{};
};

struct SavedSession {
  std::string revision{};
  Caller caller{};
  ServerCapabilities promised{};
  LoggingLevel level{};
  bool initialized{};
  std::vector<std::string> subscriptions{};
  std::optional<SavedIdentity> identity{};
  std::optional<std::map<std::string, RawJson>> values{};
  std::optional<RawJson> runs{};
};

}  // namespace

std::optional<std::string> Session::value(std::string_view key) const {
  const std::lock_guard lock(server_->mutex);
  if (!values_) return std::nullopt;
  const auto found = values_->find(key);
  return found == values_->end() ? std::nullopt : std::optional(found->second);
}

Result<void> Session::set_value(std::string_view key, std::string json) {
  const std::lock_guard lock(server_->mutex);
  if (!values_) values_ = std::make_unique<Values>();
  const auto found = values_->find(key);
  const std::size_t before =
      found == values_->end() ? 0 : kept_size(key) + kept_size(found->second);
  const std::size_t bytes = kept_size(key) + kept_size(json);
  // The old one counts until the new one is there.
  if (auto full = values_kept_.add(bytes)) return *std::move(full);
  KeptClaim claim(values_kept_, bytes);
  if (found == values_->end()) {
    values_->emplace(std::string(key), std::move(json));
  } else {
    found->second = std::move(json);
  }
  claim.keep();
  values_kept_.remove(before);
  values_bytes_.store(values_kept_.here(), std::memory_order_relaxed);
  changed();
  return {};
}

Result<std::string> Session::save() const {
  if (!codec_) return error("the session has had no handshake");
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  writer.key("revision");
  writer.value(codec_->revision());
  writer.key("caller");
  json::write(writer, *caller_);
  writer.key("promised");
  json::write(writer, *promised_);
  writer.key("level");
  json::write(writer, level());
  writer.key("initialized");
  writer.value(initialized_);
  writer.key("subscriptions");
  writer.begin_array();
  for (const std::string& uri : subscribed_) writer.value(uri);
  writer.end_array();
  {
    const std::lock_guard lock(server_->mutex);
    if (values_ && !values_->empty()) {
      writer.key("values");
      writer.begin_object();
      for (const auto& [key, value] : *values_) {
        writer.key(key);
        writer.raw(value);
      }
      writer.end_object();
    }
  }
  if (identity_) {
    writer.key("identity");
    json::write(writer, SavedIdentity{.issuer = identity_->issuer,
                                      .subject = identity_->subject,
                                      .client = identity_->client});
  }
  writer.key("runs");
  save_runs(writer);
  writer.end_object();
  return out;
}

Result<void> Session::restore(std::string_view state) {
  if (codec_) return error("the session has begun already");
  Result<SavedSession> saved = json::decode<SavedSession>(state);
  if (!saved) return std::move(saved).error();
  json::Document runs_document;
  const Result<json::View> runs = runs_document.parse(saved->runs ? saved->runs->text : "null");
  if (!runs) return runs.error();
  const mcp::Codec* const codec = mcp::Eras::built_in().by_handshake(saved->revision);
  if (!codec) {
    return error("the session was saved by a server that speaks another revision: \"" +
                 saved->revision + "\"");
  }
  std::shared_ptr<const rpc::Identity> identity;
  if (saved->identity) {
    identity = std::make_shared<const rpc::Identity>(
        rpc::Identity{.issuer = std::move(saved->identity->issuer),
                      .subject = std::move(saved->identity->subject),
                      .client = std::move(saved->identity->client)});
  }
  Rollback undo([&] {
    {
      const std::lock_guard lock(server_->news_mutex);
      for (const std::string& uri : subscribed_) kept_.remove(kept_size(uri));
      subscribed_.clear();
    }
    const std::lock_guard lock(server_->mutex);
    values_.reset();
    values_kept_.remove(values_kept_.here());
    values_bytes_.store(0, std::memory_order_relaxed);
  });
  if (saved->values) {
    for (auto& [key, value] : *saved->values) {
      if (Result<void> kept = set_value(key, std::move(value.text)); !kept) return kept;
    }
  }
  for (std::string& uri : saved->subscriptions) {
    if (auto refused = subscribe(std::move(uri))) return *std::move(refused);
  }
  auto promised = std::make_shared<const ServerCapabilities>(std::move(saved->promised));
  if (auto refused = begin(*codec, std::move(promised), std::move(saved->caller))) {
    return *std::move(refused);
  }
  undo.dismiss();
  rpc::Rules rules = peer_.rules();
  rules.batch = codec->carrier_rules().batches;
  peer_.set_rules(rules);
  set_identity(std::move(identity));
  set_level(saved->level);
  initialized_ = saved->initialized;
  return saved->runs ? restore_runs(*runs) : Result<void>();
}

}  // namespace godwit::inline v0::detail::server
