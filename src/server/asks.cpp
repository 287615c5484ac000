#include "asks.hpp"

#include <algorithm>
#include <cstdint>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/schema.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/era/eras.hpp"

namespace godwit::inline v0::detail::server {

namespace {

void append_hex(std::string& out, std::uint64_t value) {
  static constexpr char hex[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(hex[value >> shift & 15]);
}

// The state as it is sealed.
struct SavedAnswer {
  std::string key{};
  std::string digest{};
  std::optional<RawJson> value{};  // nothing: it is still pending
  // Of the explicit style: the question, to check the answer and to ask again.
  std::optional<std::string> method{};
  std::optional<std::string> params{};
};
struct SavedEffect {
  std::string key{};
  std::string result{};
};
struct Saved {
  std::string chain{};
  unsigned round = 0;
  std::int64_t expires = 0;
  std::string state{};
  bool is_explicit = false;
  std::vector<SavedAnswer> asks{};
  std::vector<SavedEffect> done{};
};

void write_canonical(json::Writer& writer, json::View value) {
  if (value.is_array()) {
    writer.begin_array();
    for (json::View item : value.items()) write_canonical(writer, item);
    writer.end_array();
  } else if (value.is_object()) {
    std::vector<json::MemberView> members;
    for (const json::MemberView member : value.members()) members.push_back(member);
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    writer.begin_object();
    for (const auto& [key, member] : members) {
      writer.key(key);
      write_canonical(writer, member);
    }
    writer.end_object();
  } else {
    writer.value(value);
  }
}

/// In whose words the state names questions. Only servers of ours read it.
const mcp::Codec& words() { return mcp::Eras::built_in().newest_alone(); }

bool keeps_params(const WireQuestion& question) noexcept {
  return question.operation != mcp::Operation::create_message;
}

}  // namespace

std::string digest_of(std::string_view text) {
  // FNV-1a with two bases.
  std::uint64_t a = 0xcbf29ce484222325;
  std::uint64_t b = 0x84222325cbf29ce4;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    b = (b ^ static_cast<unsigned char>(c)) * 0x10000000233;
  }
  std::string out;
  append_hex(out, a);
  append_hex(out, b);
  return out;
}

std::string canonical(json::View value) {
  std::string out;
  json::Writer writer(out);
  write_canonical(writer, value);
  return out;
}

void log_misfit(const Log& log, std::string_view key, std::string_view why) {
  log.limited(LogLevel::warning, "an answer did not fit the question " + json::quote(key) +
                                     " and is asked for again: " + std::string(why));
}

std::optional<std::string> misfit_of(const WireQuestion& question, std::string_view answer) {
  const auto why = [](const auto& decoded) -> std::optional<std::string> {
    if (decoded) return std::nullopt;
    return decoded.error().message;
  };
  struct Roots {
    std::vector<Root> roots{};
  };
  switch (question.operation) {
    case mcp::Operation::create_message:
      return why(json::decode<SamplingResult>(answer));
    case mcp::Operation::list_roots:
      return why(json::decode<Roots>(answer));
    case mcp::Operation::elicit:
      break;
    default:
      return std::nullopt;
  }
  Result<ElicitResult> result = json::decode<ElicitResult>(answer);
  if (!result || result->action != ElicitAction::accept) return why(result);
  const Result<json::Value> params = json::parse(question.params);
  if (!params || !params->contains("requestedSchema")) return std::nullopt;  // a url to open
  const Result<json::Schema> schema = json::Schema::compile((*params)["requestedSchema"]);
  if (!schema) return std::nullopt;  // the handler's mistake: nothing to check against
  // A field that was left empty may come as null.
  json::Object content;
  if (result->content) {
    for (json::Member& member : *result->content) {
      if (!member.value.is_null()) content.append(member.key, std::move(member.value));
    }
  }
  const json::Validation validation = schema->validate(json::Value(std::move(content)));
  if (validation.ok()) return std::nullopt;
  return validation.text();
}

std::vector<WireQuestion> Asks::take_misfits(const Log& log) {
  std::vector<WireQuestion> again;
  if (!is_explicit) return again;
  for (const WireQuestion& question : pending) {
    const auto at = answers.find(question.key);
    if (at == answers.end() || at->second.error) continue;
    const std::optional<std::string> why = misfit_of(question, at->second.text);
    if (!why) continue;
    log_misfit(log, question.key, *why);
    if (again.empty()) misfit = *why;
    answers.erase(at);
    again.push_back(question);
  }
  return again;
}

std::string Asks::save(std::int64_t expires) const {
  Saved saved{.chain = chain,
              .round = round,
              .expires = expires,
              .state = own_state,
              .is_explicit = is_explicit};
  for (const auto& [key, answered] : answers) {
    if (answered.error) continue;  // asked again next time
    saved.asks.push_back({.key = key, .digest = answered.digest, .value = RawJson{answered.text}});
  }
  for (const WireQuestion& question : pending) {
    SavedAnswer ask{.key = question.key, .digest = question.digest};
    if (is_explicit) {
      ask.method = words().name_of(question.operation);
      if (keeps_params(question)) ask.params = question.params;
    }
    saved.asks.push_back(std::move(ask));
  }
  for (const auto& [key, result] : done) saved.done.push_back({.key = key, .result = result});
  return json::encode(saved);
}

std::size_t Asks::answer_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [key, answered] : answers) bytes += answered.text.size();
  return bytes;
}

std::size_t Asks::question_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const WireQuestion& question : pending) {
    bytes += question.key.size();
    if (is_explicit && keeps_params(question)) bytes += question.params.size();
  }
  return bytes;
}

Result<Asks> Asks::load(std::string_view text, std::int64_t now) {
  Result<Saved> saved = json::decode<Saved>(text);
  // It was sealed by us, so this is another release's state and nothing that a person did.
  if (!saved) return rpc::invalid_params("the request state is not of this server");
  if (saved->expires < now) {
    return rpc::invalid_params("the request state has expired; send the request again without it");
  }
  Asks asks;
  asks.chain = std::move(saved->chain);
  asks.round = saved->round;
  asks.own_state = std::move(saved->state);
  asks.is_explicit = saved->is_explicit;
  for (SavedAnswer& ask : saved->asks) {
    if (ask.value) {
      asks.answers[ask.key] = {.digest = std::move(ask.digest), .text = std::move(ask.value->text)};
    } else {
      WireQuestion question{std::move(ask.key), {}, {}, std::move(ask.digest)};
      if (ask.method) {
        const mcp::Method* method = words().find(*ask.method, mcp::Side::client);
        if (!method) return rpc::invalid_params("the request state is not of this server");
        question.operation = method->operation;
        question.params = std::move(ask.params).value_or("");
      }
      asks.pending.push_back(std::move(question));
    }
  }
  for (SavedEffect& effect : saved->done) {
    asks.done[std::move(effect.key)] = std::move(effect.result);
  }
  return asks;
}

void Asks::take(json::View responses, bool first_round) {
  for (const auto [key, value] : responses.members()) {
    // No answer has another shape: asked again.
    if (!value.is_object() && !is_explicit) continue;
    if (first_round) {
      answers[std::string(key)] = {.text = std::string(value.source())};
      continue;
    }
    for (const WireQuestion& question : pending) {
      if (question.key != key) continue;
      answers[std::string(key)] = {.digest = question.digest, .text = std::string(value.source())};
      break;
    }
  }
}

}  // namespace godwit::inline v0::detail::server
