#include "asks.hpp"

#include <algorithm>
#include <cstdint>
#include <random>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail {

namespace {

void append_hex(std::string& out, std::uint64_t value) {
  static constexpr char hex[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(hex[value >> shift & 15]);
}

// The state as it is sealed.
struct SavedAnswer {
  std::string key{};
  std::string digest{};
  std::optional<json::Value> value{};  // nothing: it is still pending
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

std::string random_name() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 2; ++i) {
    append_hex(out, std::uint64_t{random()} << 32 | random());
  }
  return out;
}

std::string Asks::save(std::int64_t expires) const {
  Saved saved{.chain = chain,
              .round = round,
              .expires = expires,
              .state = own_state,
              .is_explicit = is_explicit};
  for (const auto& [key, answered] : answers) {
    if (answered.error) continue;  // asked again next time
    saved.asks.push_back({.key = key, .digest = answered.digest, .value = answered.value});
  }
  for (const WireQuestion& question : pending) {
    saved.asks.push_back({.key = question.key, .digest = question.digest});
  }
  for (const auto& [key, result] : done) saved.done.push_back({.key = key, .result = result});
  return json::encode(saved);
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
      asks.answers[ask.key] = {std::move(ask.digest), *std::move(ask.value), std::nullopt};
    } else {
      asks.pending.push_back({std::move(ask.key), {}, {}, std::move(ask.digest)});
    }
  }
  for (SavedEffect& effect : saved->done) {
    asks.done[std::move(effect.key)] = std::move(effect.result);
  }
  return asks;
}

void Asks::take(json::View responses, bool first_round) {
  for (const auto [key, value] : responses.members()) {
    if (!value.is_object()) continue;  // no answer has that shape: asked again
    if (first_round) {
      answers[std::string(key)] = {{}, json::Value(value), std::nullopt};
      continue;
    }
    for (const WireQuestion& question : pending) {
      if (question.key != key) continue;
      answers[std::string(key)] = {question.digest, json::Value(value), std::nullopt};
      break;
    }
  }
}

}  // namespace godwit::inline v0::detail
