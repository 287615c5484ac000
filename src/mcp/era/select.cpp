// Revisions by name. The only file that compares revision strings.
#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <utility>

#include "eras.hpp"
#include "godwit/base/work.hpp"
#include "godwit/mcp/revision.hpp"
#include "godwit/rpc/error_code.hpp"
#include "stateful.hpp"
#include "stateless.hpp"

namespace godwit::inline v0 {

std::span<const std::string_view> revisions() noexcept { return mcp::Eras::built_in().revisions(); }

namespace mcp {

namespace {

const Codec* named(std::span<const Codec* const> codecs, std::string_view revision) noexcept {
  const auto at = std::ranges::find(codecs, revision, &Codec::revision);
  return at == codecs.end() ? nullptr : *at;
}

/// The last of these codecs, which are from the oldest to the newest, that is among the revisions.
const Codec* best(std::span<const Codec* const> codecs,
                  std::span<const std::string> revisions) noexcept {
  const Codec* best = nullptr;
  for (const Codec* const codec : codecs) {
    if (std::ranges::find(revisions, codec->revision()) != revisions.end()) best = codec;
  }
  return best;
}

Admission refused(Error error) { return {.error = std::move(error)}; }

/// It does not say in its _meta what each message must: no request at all. Wrong arguments are an
/// answer like any other.
Admission no_request(Error error) {
  static const auto bad_request =
      std::make_shared<const HttpError>(HttpError{.status = 400, .fields = {}});
  error.http = bad_request;
  return refused(std::move(error));
}

/// One that asks and is answered, or one that tells; not the one for the other.
const Method* row_of(const Codec& codec, const Incoming& message) noexcept {
  const Method* const row = codec.find(message.method, Side::server);
  return row && row->notification != message.wants_answer ? row : nullptr;
}

Admission admitted(const Codec& codec, const Incoming& message) {
  return {.codec = &codec, .method = row_of(codec, message)};
}

}  // namespace

const Eras& Eras::built_in() noexcept {
  static const std::array<const Codec*, 1> alone = {&stateless_codec()};
  static const Eras eras(stateful_codecs(), alone);
  return eras;
}

Eras::Eras(std::span<const Codec* const> by_handshake, std::span<const Codec* const> alone) noexcept
    : by_handshake_(by_handshake), alone_(alone) {
  assert(!by_handshake.empty() && !alone.empty() && by_handshake.size() + alone.size() <= most);
  auto next = revisions_.begin();
  for (auto at = alone_.rbegin(); at != alone_.rend(); ++at) *next++ = (*at)->revision();
  for (auto at = by_handshake_.rbegin(); at != by_handshake_.rend(); ++at) {
    *next++ = (*at)->revision();
  }
}

const Codec* Eras::find(std::string_view revision) const noexcept {
  const Codec* const codec = alone(revision);
  return codec ? codec : by_handshake(revision);
}

const Codec* Eras::by_handshake(std::string_view revision) const noexcept {
  return named(by_handshake_, revision);
}

const Codec* Eras::alone(std::string_view revision) const noexcept {
  return named(alone_, revision);
}

const Codec* Eras::best_by_handshake(std::span<const std::string> revisions) const noexcept {
  return best(by_handshake_, revisions);
}

const Codec* Eras::best_alone(std::span<const std::string> revisions) const noexcept {
  return best(alone_, revisions);
}

const Codec& Eras::negotiate(std::string_view wanted) const noexcept {
  const Codec* const codec = by_handshake(wanted);
  return codec ? *codec : newest_by_handshake();
}

bool Eras::know(std::string_view method) const noexcept {
  const auto has = [&](const Codec* codec) { return codec->find(method, Side::server) != nullptr; };
  return std::ranges::any_of(alone_, has) || std::ranges::any_of(by_handshake_, has);
}

// Messages.

json::View named_revision(json::View meta) noexcept {
  return meta.find(meta_key::protocol_version);
}

json::View subscription_of(json::View params) noexcept {
  return params.find("_meta").find(meta_key::subscription_id);
}

RequestFacts find_facts(json::View meta) noexcept {
  RequestFacts facts;
  const auto fact_called = [&](std::string_view key) -> json::View* {
    const auto is = [&](std::string_view known) { return json::detail::same_name(key, known); };
    if (is(meta_key::protocol_version)) return &facts.revision;
    if (is(meta_key::client_capabilities)) return &facts.capabilities;
    if (is(meta_key::client_info)) return &facts.client;
    if (is(meta_key::log_level)) return &facts.wanted_level;
    return nullptr;
  };
  json::detail::NameFilter others;
  for (const auto [key, value] : meta.members()) {
    detail::base::count_work(1);
    if (json::View* const fact = fact_called(key)) {
      facts.may_have_twins |= static_cast<bool>(*fact);
      *fact = value;
    } else {
      facts.may_have_twins |= others.maybe_seen(key);
    }
  }
  return facts;
}

const Codec& Eras::codec_of(const RequestFacts& facts, const Codec* agreed) const noexcept {
  if (agreed && !facts.revision) return *agreed;
  std::string_view wanted;
  const Codec* const codec = facts.revision.get(wanted) ? alone(wanted) : nullptr;
  return codec ? *codec : newest_alone();
}

Admission Eras::admit(Incoming& message, const Codec* agreed) const {
  const json::View meta = message.meta;
  if (meta && !meta.is_object()) {
    return no_request(rpc::invalid_params("params/_meta must be an object"));
  }
  if (message.fields || message.facts.revision) return admit_alone(message);
  return agreed ? admitted(*agreed, message) : admit_unknown(message);
}

Admission Eras::admit_alone(Incoming& message) const {
  std::string_view wanted;
  const Codec* const known = message.facts.revision.get(wanted) ? alone(wanted) : nullptr;
  const Codec& codec = known ? *known : newest_alone();
  message.is_spoken = known != nullptr;
  // Of notifications nothing is required.
  if (auto error = codec.admit(message, *this); error && message.wants_answer) {
    return no_request(*std::move(error));
  }
  return admitted(codec, message);
}

/// Nothing is agreed on yet. A request that stands alone and lacks its _meta is told what is
/// missing.
Admission Eras::admit_unknown(Incoming& message) const {
  if (!message.wants_answer) {
    return admitted(newest_alone(), message);  // "cancelled" needs no agreement
  }
  const Codec& codec = newest_by_handshake();
  const Method* const method = codec.find(message.method, Side::server);
  if (method &&
      (method->operation == Operation::initialize || method->operation == Operation::ping)) {
    return admitted(codec, message);
  }
  if (!method && newest_alone().find(message.method, Side::server)) {
    return refused(missing_meta(meta_key::protocol_version));
  }
  return refused(rpc::invalid_request(
      "send \"initialize\" first, or put \"" + std::string(meta_key::protocol_version) +
      "\" and \"" + std::string(meta_key::client_capabilities) + "\" into params/_meta"));
}

}  // namespace mcp
}  // namespace godwit::inline v0
