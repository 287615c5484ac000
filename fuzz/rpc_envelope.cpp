// Fuzzes the JSON-RPC layer against a small model of the specification. What must hold, under the
// plain rules and under the tightest:
// - parse_message() and Peer classify every message, and every entry of a batch, as the model does.
// - A message is answered by at most one message, and that one is valid JSON-RPC: the right ids,
// the
//   right codes. Notifications and responses, good or bad, are never answered.
// - Own calls end exactly once: by the response that carries their id, or at the end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/document.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/message.hpp"
#include "godwit/rpc/peer.hpp"

#ifdef NDEBUG
#error "fuzz without NDEBUG, so that the assertions of all libraries count"
#endif

namespace {

namespace json = godwit::json;
namespace rpc = godwit::rpc;

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

/// Type and value of an id in one string.
std::string id_key(json::View id) {
  if (!id) return "none";
  if (const auto text = id.as_string()) return "s" + std::string(*text);
  return std::string(id.source());
}

bool unique_names(json::View object) {
  std::set<std::string_view> names;
  for (const auto [name, value] : object.members()) {
    if (!names.insert(name).second) return false;
  }
  return true;
}

struct Model {
  enum class Kind { request, notification, response, error_response, invalid };
  Kind kind = Kind::invalid;
  bool is_answer = false;
  std::string id = "none";
  std::string method{};
  json::Value params{};

  Model(json::View message, const rpc::Rules& rules) {
    if (!message.is_object()) return;
    const auto members = [&](std::string_view wanted) {
      std::vector<json::View> found;
      for (const auto [name, value] : message.members()) {
        if (name == wanted) found.push_back(value);
      }
      return found;
    };
    const auto ids = members("id");
    const bool has_method = !members("method").empty();
    const bool has_result = !members("result").empty();
    const bool has_error = !members("error").empty();
    is_answer = !has_method && (has_result || has_error);
    const bool id_null = ids.size() == 1 && ids[0].is_null();
    bool id_fits = false;
    if (ids.size() == 1) {
      const std::string_view source = ids[0].source();
      const bool fraction = source.find_first_of(".eE") != source.npos || source == "-0";
      id_fits = ids[0].is_string() || (id_null && rules.null_id) ||
                (ids[0].is_number() && (rules.fractional_id || !fraction));
    }
    if (id_fits) id = id_key(ids[0]);
    if (!unique_names(message)) return;
    if (!ids.empty() && !id_fits && !(is_answer && id_null)) return;
    const auto version = members("jsonrpc");
    if (version.empty() || version[0].as_string() != "2.0") return;
    if (has_method) {
      const auto name = members("method")[0].as_string();
      if (!name || has_result || has_error) return;
      if (const auto found = members("params"); !found.empty()) {
        if (!found[0].is_object() && !(found[0].is_array() && rules.array_params)) return;
        if (!unique_names(found[0]) || !unique_names(found[0].find("_meta"))) return;
        params = json::Value(found[0]);
      }
      method = *name;
      kind = ids.empty() ? Kind::notification : Kind::request;
      return;
    }
    if (!is_answer || (has_result && has_error)) return;
    if (has_result) {
      if (ids.empty()) return;
      if (rules.object_result && !members("result")[0].is_object()) return;
      kind = Kind::response;
      return;
    }
    if (ids.empty() && rules.id_on_unreadable) return;
    const json::View error = members("error")[0];
    if (!error.is_object() || !unique_names(error)) return;
    if (!error.find("code").as_int64() || !error.find("message").is_string()) return;
    kind = Kind::error_response;
  }
};

/// What a peer should do about a message: `ID CODE` of each answer (0 is a result), and which own
/// calls end.
struct Expected {
  bool batch = false;
  std::vector<std::string> answers{};
  std::set<std::string> ended{};
  std::set<std::string> in_flight{};

  void refuse(const rpc::Rules& rules, int code) {
    answers.push_back((rules.id_on_unreadable ? "null " : "none ") + std::to_string(code));
  }
  void entry(json::View view, const rpc::Rules& rules) {
    const Model model(view, rules);
    if (model.is_answer) {
      ended.insert(model.id);
    } else if (model.kind == Model::Kind::invalid) {
      if (model.id == "none") return refuse(rules, -32600);
      answers.push_back(model.id + " -32600");
    } else if (model.kind == Model::Kind::request) {
      if (in_flight.contains(model.id)) return refuse(rules, -32600);
      const bool known = model.method == "echo" || model.method == "later";
      const bool result = known && (!rules.object_result || model.params.is_object());
      answers.push_back(model.id + (result ? " 0" : known ? " -32603" : " -32601"));
      if (model.method == "later") in_flight.insert(model.id);
    }
  }
};

Expected expect(std::string_view text, const rpc::Rules& rules, const godwit::Limits& limits) {
  Expected expected;
  json::Document document;
  const auto root = document.parse(text, json::ParseOptions::from(limits));
  if (!root) {
    expected.refuse(rules, -32700);
  } else if (!root->is_array()) {
    expected.entry(*root, rules);
  } else if (!rules.batch || root->size() == 0 || root->size() > limits.batch_entries) {
    expected.refuse(rules, -32600);
    // Whoever waits for an answer in it is told at once.
    for (json::View item : root->items()) {
      if (const Model model(item, rules); model.is_answer) expected.ended.insert(model.id);
    }
  } else {
    expected.batch = true;
    for (json::View item : root->items()) expected.entry(item, rules);
  }
  return expected;
}

/// An answer of the peer, in the form of Expected. Checks that it is valid on the way.
std::string answer_of(json::View answer, const rpc::Rules& rules) {
  const Model model(answer, rules);
  CHECK(model.kind == Model::Kind::response || model.kind == Model::Kind::error_response);
  const json::View id = answer.find("id");
  const std::string key = id ? id_key(id) : "none";
  if (model.kind == Model::Kind::response) return key + " 0";
  CHECK(!answer.find("error").find("message").as_string()->empty());
  return key + " " + std::to_string(*answer.find("error").find("code").as_int64());
}

void check_parse(std::string_view text, const rpc::Rules& rules, const godwit::Limits& limits) {
  const auto parsed = rpc::parse_message(text, rules, limits);
  json::Document document;
  const auto root = document.parse(text, json::ParseOptions::from(limits));
  if (!root) {
    CHECK(!parsed && parsed.error().code == -32700);
    return;
  }
  const auto same = [&](const godwit::Result<rpc::Message>& message, json::View view) {
    const Model model(view, rules);
    CHECK(message.has_value() == (model.kind != Model::Kind::invalid));
    if (!message) {
      CHECK(message.error().code == -32600);
      return;
    }
    CHECK(message->index() == static_cast<std::size_t>(model.kind));
    // What was read can be written, and reads as the same again.
    const auto again = rpc::parse_message(rpc::serialize(*message), rules, limits);
    CHECK(again && again->single() && *again->single() == *message);
  };
  if (parsed && parsed->is_batch()) {
    CHECK(root->is_array() && parsed->batch()->size() == root->size());
    for (std::size_t i = 0; i < root->size(); ++i) same((*parsed->batch())[i], root->at(i));
  } else if (!root->is_array()) {
    same(parsed ? godwit::Result<rpc::Message>(*parsed->single()) : parsed.error(), *root);
  } else {
    CHECK(!parsed && parsed.error().code == -32600);
  }
}

void check_peer(std::string_view text, const rpc::Rules& rules, const godwit::Limits& limits,
                rpc::IdStyle ids) {
  static const auto router = [] {
    auto methods = std::make_shared<rpc::Router>();
    methods->on("echo", [](json::Value params) { return params; });
    methods->on("later", [](json::Value params, rpc::Reply<json::Value> reply) {
      reply(std::move(params));
    });
    return methods;
  }();
  std::vector<std::string> sent;
  rpc::MessageSink sink([&](std::string_view message) { sent.emplace_back(message); });
  std::map<std::string, int> outcomes;
  const Expected expected = expect(text, rules, limits);
  {
    rpc::Peer peer(sink, router, {.rules = rules, .limits = limits, .ids = ids});
    for (int i = 0; i < 2; ++i) {
      const std::string name = std::to_string(i + 1);
      peer.call("m", rpc::no_params,
                [&outcomes, name](godwit::Result<json::Value>) { ++outcomes[name]; });
    }
    sent.clear();
    // In place, with bytes behind the text that would change it.
    std::string padded(text);
    padded.append(json::Document::padding, '1');
    peer.on_message(std::string_view(padded).substr(0, text.size()), json::Document::padding);
    for (const char* name : {"1", "2"}) {
      const bool ended = ids == rpc::IdStyle::sequential && expected.ended.contains(name);
      CHECK(outcomes[name] == (ended ? 1 : 0));
    }
    CHECK(peer.in_flight() == 0);
  }
  CHECK(outcomes["1"] == 1 && outcomes["2"] == 1);

  if (expected.answers.empty()) {
    CHECK(sent.empty());
    return;
  }
  CHECK(sent.size() == 1);
  json::Document document;
  const auto root = document.parse(sent[0]);
  CHECK(root && root->is_array() == expected.batch);
  std::vector<std::string> answers;
  if (expected.batch) {
    for (json::View item : root->items()) answers.push_back(answer_of(item, rules));
  } else {
    answers.push_back(answer_of(*root, rules));
  }
  // Late answers come after the others.
  std::vector<std::string> wanted = expected.answers;
  std::sort(answers.begin(), answers.end());
  std::sort(wanted.begin(), wanted.end());
  CHECK(answers == wanted);

  // No argument: what we say about a message is never answered by another of us.
  std::vector<std::string> more;
  rpc::MessageSink back([&](std::string_view message) { more.emplace_back(message); });
  rpc::Peer other(back, router, {.rules = rules, .limits = limits});
  other.receive(sent[0]);
  CHECK(more.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const godwit::Limits limits{.batch_entries = 6};
  const rpc::Rules tight{.array_params = false,
                         .null_id = false,
                         .fractional_id = false,
                         .batch = size % 2 == 0,
                         .object_result = true,
                         .id_on_unreadable = false};
  for (const rpc::Rules& rules : {rpc::Rules{}, tight}) {
    check_parse(text, rules, limits);
    check_peer(text, rules, limits, size % 8 == 0 ? rpc::IdStyle::uuid : rpc::IdStyle::sequential);
  }
  return 0;
}
