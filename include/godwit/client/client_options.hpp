// ClientOptions: everything a program decides about its side of the protocol: who it is, what it
// answers when asked, what it wants to hear, how it finds out what the server speaks. A plain value
// that can be copied.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/result.hpp"
#include "godwit/base/version.hpp"
#include "godwit/client/input_handler.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/elicitation.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/notification.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/trace.hpp"
#include "godwit/rpc/tap.hpp"

namespace godwit::inline v0 {

namespace http {
class RequestAuthorizer;  // of godwit/http/request_authorizer.hpp, which is above this module
}

/// Which era of the protocol to speak: that of the handshake (stateful), that in which every
/// request stands for itself (stateless), or whichever the server speaks.
enum class Lifecycle : std::uint8_t { automatic, stateful, stateless };

/// What was found out about a server. Given to a later session with the same server it saves asking
/// again.
struct Verdict {
  bool stateless = false;
  std::string revision{};
  /// The rest counts for stateless servers only; the others say it anew in each handshake.
  ServerCapabilities capabilities{};
  Implementation server{};
  std::string instructions{};
  std::vector<std::string> revisions{};

  bool operator==(const Verdict&) const = default;
};

/// Whom to trust, and what to show, where a connection is encrypted. Files are in PEM form.
struct ClientTls {
  /// The authorities to trust, instead of those that the system trusts.
  std::string ca_file{};
  /// For servers that ask who the client is.
  std::string certificate_file{};
  std::string key_file{};

  bool operator==(const ClientTls&) const = default;
};

/// How one request is made.
struct RequestOptions {
  /// How long the server may be silent; Limits::call_timeout if not set. Progress starts it anew.
  /// For a list that comes in pages it is the time for all of them together.
  std::optional<Duration> timeout{};
  /// With this the server is asked to report progress.
  std::function<void(const Progress&)> on_progress{};
  /// However much progress there is. Time that people spend answering questions is not counted.
  Duration max_total = std::chrono::minutes(10);
  /// Further members of the request's _meta.
  json::Object meta{};
  /// Where the level is a matter of each request: what the server may log while it works on it.
  std::optional<LoggingLevel> log_level{};
  TraceContext trace{};
  /// Header fields beside this request, where the carrier has such (HTTP).
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Ask the server even if an answer is known that is not outdated.
  bool fresh = false;
};

struct ClientOptions {
  /// Who this client says it is.
  Implementation info{.name = "godwit", .version = std::string(version())};

  // How to begin.

  Lifecycle lifecycle = Lifecycle::automatic;
  /// How long a server may take to answer the question whether it is stateless; many older ones
  /// never answer what they do not know.
  Duration probe_timeout = std::chrono::seconds(5);
  /// From the start of the session until the server is known; also with a program that is fetched
  /// before it runs, as `npx` does the first time.
  Duration start_timeout = std::chrono::seconds(60);
  /// The same after the server sent something that is no message: it is probably no server at all.
  Duration garbage_timeout = std::chrono::seconds(10);
  /// From an earlier session with this server.
  std::optional<Verdict> verdict{};

  // What the server may ask. Setting one of these declares the capability.

  InputHandler<ElicitRequest, ElicitResult> elicit{};
  /// Which questions `elicit` takes.
  bool elicit_forms = true;
  bool elicit_urls = false;
  /// Members that an accepted form leaves out are filled in from the defaults of its schema.
  bool apply_defaults = true;
  InputHandler<SamplingRequest, SamplingResult> sample{};
  /// Whether `sample` knows what to do with tools in the request.
  bool sample_tools = false;
  /// A fixed list, which ClientSession::set_roots() can change later…
  std::optional<std::vector<Root>> roots{};
  /// …or a function.
  std::function<Result<std::vector<Root>>()> list_roots{};
  std::optional<std::map<std::string, json::Value>> experimental{};
  std::optional<std::map<std::string, json::Value>> extensions{};

  // What the server tells. All on the thread of the peer.

  std::function<void(const LoggingMessage&)> on_log{};
  std::function<void()> on_tools_changed{};
  std::function<void()> on_prompts_changed{};
  std::function<void()> on_resources_changed{};
  std::function<void(const std::string& uri)> on_resource_updated{};
  std::function<void(const std::string& id)> on_elicitation_complete{};
  /// Everything that this library does not know.
  std::function<void(const std::string& method, const RawJson& params)> on_notification{};

  // What the library does with answers.

  /// Structured results are checked against the output schema of the tool, once it was listed.
  bool check_results = true;
  /// Answers that say how long they are good are kept that long.
  bool cache = true;

  /// Read by Client only: a server program that died is started again by the next call, or soon if
  /// something is listened for. Over HTTP it is always so: a new session is begun if the old one is
  /// lost.
  bool restart = false;
  /// Read by Client only, for HTTP: header fields of every request, such as Authorization.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Read by Client only, for HTTP and WebSocket: asked for header fields before each request, and
  /// what to do after a 401 or 403. Its fields take the place of those in `headers`.
  std::shared_ptr<http::RequestAuthorizer> authorizer{};
  /// Read by Client only, for https and wss.
  ClientTls tls{};

  /// Servers answer with more than they are sent, so that as much is taken as they may say. Change
  /// single members of it: a Limits of your own begins with those of a server.
  Limits limits{.message_bytes_in = Limits{}.message_bytes_out};
  Log log{};
  /// Sees every message both ways, on the thread of the session.
  rpc::Tap tap{};
};

}  // namespace godwit::inline v0
