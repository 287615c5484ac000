// What codecs take and give: parts of messages as no era in particular has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/notification.hpp"
#include "godwit/mcp/trace.hpp"
#include "godwit/rpc/facts.hpp"
#include "operation.hpp"

namespace godwit::inline v0::mcp {

class Codec;

// On the server.

/// What a request says about its sender in its _meta. Views into the request.
struct RequestFacts {
  json::View revision{};  // there if the request stands alone
  json::View capabilities{};
  json::View client{};
  json::View wanted_level{};  // as it came
  std::optional<LoggingLevel> log_level{};
  /// Two members of the _meta may have the same name; View::duplicate_key() knows.
  bool may_have_twins = false;
};
/// Finds them in one walk over the _meta, which may be absent.
GODWIT_API RequestFacts find_facts(json::View meta) noexcept;

/// A message of a client as it came.
struct Incoming {
  std::string_view method{};
  json::View params{};
  json::View meta{};
  RequestFacts& facts;
  bool wants_answer = false;
  /// The revision that it names is the codec's that admits it.
  bool is_spoken = false;
  /// The header fields that must agree with it; null if it came without any that count. With them
  /// it stands alone, whatever it says.
  const rpc::HeaderFields* fields = nullptr;
};

/// How a message is served, or why it is not.
struct Admission {
  const Codec* codec = nullptr;
  /// Null: it is none of the protocol.
  const Method* method = nullptr;
  std::optional<Error> error{};
};

/// What a client said in a handshake, and the codec that its session is held in.
struct Handshake {
  const Codec* codec = nullptr;
  ClientCapabilities capabilities{};
  Implementation client{};
};

/// What a server says about itself.
struct ServerFacts {
  const Implementation& info;
  const ServerCapabilities& capabilities;
  const std::string& instructions;
};

/// With what a result may end.
struct ResultEnd {
  /// The Implementation of the server, as JSON.
  std::string_view server{};
  /// A handler's own _meta; null if there is none.
  const json::Object* meta = nullptr;
  /// How long it may be kept; nothing for results that may not.
  std::optional<std::int64_t> ttl_ms{};
  /// Whether others may be given the same.
  bool is_shared = false;
};

struct ProgressReport {
  json::View token{};
  double progress = 0;
  std::optional<double> total{};
  std::string_view message{};
};

/// What continues an earlier round of a request: the answers, and what that round left.
struct Round {
  json::View responses{};
  json::View state{};

  explicit operator bool() const noexcept { return responses || state; }
};

/// The ways to ask a client.
class Asking {
 public:
  /// It gets requests, and the server waits for their answers.
  virtual void by_requests() = 0;
  /// The result asks, and the client sends its request again with the answers.
  virtual void by_result() = 0;

 protected:
  ~Asking() = default;
};

/// Why something cannot be asked.
struct Unaskable {
  std::string_view what{};
  /// The capability that the client does not offer, as JSON; empty if the revision has no words for
  /// it.
  std::string_view required{};
};
/// The params of a question, as JSON, or why there are none.
using Worded = std::variant<std::string, Unaskable>;

/// What carriers have to know.
struct CarrierRules {
  /// Several messages may come in one array.
  bool batches = false;
  /// Over HTTP a stream begins with an event that says how to come back to it.
  bool primed_streams = false;
};

// On the client.

/// Reads who somebody is as far as it can be read; what it is used for does not justify an error.
GODWIT_API Implementation read_implementation(json::View view);

/// What a server said about itself.
struct Welcome {
  const Codec* codec = nullptr;
  ServerCapabilities capabilities{};
  Implementation server{};
  std::string instructions{};
  /// The revisions it says it speaks.
  std::vector<std::string> revisions{};
};

/// What a program wants of a server, for which not every era has a message.
enum class Wish : std::uint8_t {
  sign_of_life,   // an answer, whatever it says
  log_level,      // lines of another level; without a message every request says which
  description,    // what the server is and can do now; without a message it is what it was
  changes,        // to be told of them; without a message they are told anyway
  tell_of_roots,  // that they are others now; without a message nobody remembers them
};

/// What goes into the _meta of a request.
struct RequestMeta {
  /// The program's own members.
  const json::Object& own;
  std::optional<std::uint64_t> progress_token{};
  /// Codec::introduction(), made once.
  std::string_view introduction{};
  std::optional<LoggingLevel> log_level{};
  const TraceContext& trace;
};

/// Is it over, is something asked, or is it something that was never agreed on?
enum class ResultKind : std::uint8_t { complete, input_required, unknown };

/// Whom a notification is for: all who listen, or one subscription, which may be absent.
struct Audience {
  bool is_everybody = true;
  json::View subscription{};
};

/// What can be done with a request of a server.
class ServerRequest {
 public:
  /// It is served. Null: there is no such method.
  virtual void serve(const Method* method) = 0;
  /// It must not be answered, not even with an error.
  virtual void ignore() = 0;

 protected:
  ~ServerRequest() = default;
};

}  // namespace godwit::inline v0::mcp
