// Codec: one revision of the protocol, as a way to say things. Callers say what they want to
// express; the codec knows how its revision says it, or that it has no words for it. It answers no
// question about what a revision has: whoever could ask would have to know what follows from the
// answer, and that is what stands here.
//
// An era is a file with a class that derives from this. What it does not override is the neutral
// way: every request stands alone and says who sends it, and the model is said as it is. Which
// codec a message is served in is decided by Eras.
//
// Codecs have no state: they are made once, and any thread may use them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/view.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/mcp/capabilities.hpp"
#include "godwit/mcp/completion.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/elicitation.hpp"
#include "godwit/mcp/implementation.hpp"
#include "godwit/mcp/notification.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/rpc/facts.hpp"
#include "godwit/rpc/transport.hpp"
#include "messages.hpp"
#include "operation.hpp"

namespace godwit::inline v0::mcp {

class Eras;
class ToolParamHeaders;
struct ParamHeader;

class GODWIT_API Codec {
 public:
  /// The views must stay good as long as the codec.
  Codec(std::string_view revision, std::span<const Method> methods) noexcept
      : revision_(revision), methods_(methods) {}
  virtual ~Codec();
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  // Its words.

  std::string_view revision() const noexcept { return revision_; }
  /// The row of a method that this side may receive, or nullptr.
  const Method* find(std::string_view method, Side receiver) const noexcept;
  /// What the operation is called; empty if there is no word for it.
  std::string_view name_of(Operation operation) const noexcept;

  // The model. Each writes one value; what there is no word for is left out or said in another way.

  virtual void write_tool(json::Writer& writer, const Tool& tool) const;
  virtual void write_resource(json::Writer& writer, const Resource& resource) const;
  virtual void write_template(json::Writer& writer, const ResourceTemplate& resource) const;
  virtual void write_prompt(json::Writer& writer, const Prompt& prompt) const;
  virtual void write_message(json::Writer& writer, const PromptMessage& message) const;
  virtual void write_content(json::Writer& writer, const Content& content) const;
  virtual void write_resource_contents(json::Writer& writer,
                                       const ResourceContents& contents) const;
  virtual void write_capabilities(json::Writer& writer, const ServerCapabilities& offered) const;
  virtual void write_progress(json::Writer& writer, const ProgressReport& report) const;
  /// An array of content. Plain text takes no detour.
  void write_contents(json::Writer& writer, const std::vector<Content>& contents) const;

  // A server receives.

  /// Why a message cannot be served; reads what its facts mean. Called for messages that stand
  /// alone: what belongs to a session was admitted by its handshake.
  virtual std::optional<Error> admit(Incoming& message, const Eras& eras) const;
  /// Why what the header fields say of the target contradicts the message. Called where the carrier
  /// has fields that count.
  virtual std::optional<Error> check_target(const rpc::HeaderFields& fields,
                                            std::string_view method, json::View params) const;
  /// The same for the arguments of a tool.
  virtual std::optional<Error> check_arguments(const rpc::HeaderFields& fields,
                                               std::span<const ParamHeader> headers,
                                               json::View arguments) const;
  /// The answer to a revision that is not spoken here.
  virtual Error unsupported_revision(std::string_view requested, const Eras& eras) const;
  /// The params of a handshake, and its result.
  virtual Result<Handshake> read_handshake(json::View params, const Eras& eras) const;
  virtual void write_handshake_result(json::Writer& writer, const ServerFacts& server) const;
  /// The members of a result that says what a server is and can do.
  virtual void write_discovery(json::Writer& writer, const ServerFacts& server,
                               const Eras& eras) const;

  // Under which conditions a request is served.

  /// What the client may count on: what it was promised, or what there is now.
  virtual const ServerCapabilities& offered(const ServerCapabilities& promised,
                                            const ServerCapabilities& now) const noexcept;
  /// Did the client say that it knows this extension? `agreed` is null without a handshake.
  virtual bool declares(const RequestFacts& facts, const ClientCapabilities* agreed,
                        const std::string& extension) const;
  /// Who sent a request. The two hold what was agreed on, if anything was, and are replaced by what
  /// the request says itself where requests do.
  virtual void read_sender(const RequestFacts& facts, Implementation& sender,
                           ClientCapabilities& capabilities) const;
  /// Whether the sender of a request wants to read a line of this level.
  virtual bool wants_log(LoggingLevel level, LoggingLevel agreed, const RequestFacts& facts) const;
  /// What of a request continues an earlier round of it.
  virtual Round continued(json::View responses, json::View state) const;
  /// Calls `use`, which reads or changes what is kept between the requests of a client, unless
  /// requests have nothing in common.
  virtual void between_requests(Function<void()> use) const;

  // A server answers.

  /// Opens a result and writes the members that it begins with.
  virtual void begin_result(json::Writer& writer) const;
  /// The same for one of a type of its own.
  virtual void begin_typed_result(json::Writer& writer, std::string_view type) const;
  /// Writes the last members of a result and closes it.
  virtual void end_result(json::Writer& writer, const ResultEnd& end) const;
  /// The type of a result; "complete" for most.
  virtual std::string_view result_type(const ToolResult& result) const;
  /// Takes the type out of a result that the program made by itself.
  virtual std::string take_result_type(json::Object& result) const;
  /// The member for the structured result of a tool, given as JSON.
  virtual void write_structured(json::Writer& writer, std::string_view json) const;
  /// The member of _meta that names the subscription which a notification or an answer is for.
  virtual std::string_view subscription_key() const noexcept;

  // A server refuses.

  /// The error as it travels: codes of this process become those of the wire.
  Error wire_error(Error error) const;
  /// The number for a resource that does not exist.
  virtual std::int64_t not_found_code() const noexcept;
  /// The error for a client that would have to offer `what`; `required` is JSON. Nothing where
  /// there is none of its own: the caller treats it as any mistake of a client then.
  virtual std::optional<Error> missing_capability(std::string_view what,
                                                  std::string_view required) const;
  /// What arguments of a tool become that do not fit: `error` with this text, or the tool's answer
  /// (tool_error).
  virtual Error bad_arguments(Error error, std::string text) const;
  /// Of an HTTP response that is nothing but this error.
  virtual int http_status(const Error& error) const noexcept;

  // A server asks.

  /// Calls the way in which a request that waits for answers asks for them.
  virtual void ask(Asking& ways) const;
  /// The params of a question to a client with these capabilities.
  virtual Worded word_form(const ElicitRequest& form, const ClientCapabilities& client) const;
  virtual Worded word_url(const ElicitRequest& url, const ClientCapabilities& client) const;
  virtual Worded word_sampling(SamplingRequest request, const ClientCapabilities& client) const;
  Worded word_roots(const ClientCapabilities& client) const;

  // Carriers.

  virtual CarrierRules carrier_rules() const noexcept;

  // A client begins.

  /// The members that the _meta of every request has, without braces.
  virtual std::string introduction(const ClientCapabilities& capabilities,
                                   const Implementation& client) const;
  virtual void write_handshake(json::Writer& writer, const ClientCapabilities& capabilities,
                               const Implementation& client) const;
  virtual Result<Welcome> read_handshake_result(json::View result, const Eras& eras) const;
  virtual Result<Welcome> read_discovery(json::View result) const;
  /// The revisions that a server speaks which refused this one; nothing if that is not what the
  /// error says.
  virtual std::optional<std::vector<std::string>> spoken_instead(const Error& error) const;
  /// Whether only a server of this era gives such an error.
  virtual bool is_own_error(const Error& error) const noexcept;

  // A client asks.

  /// The message that fulfils a wish of the program; nothing if none is needed.
  virtual std::optional<Operation> message_for(Wish wish) const noexcept;
  /// The capability that a server lacks for this operation; empty if it lacks none.
  virtual std::string_view missing(Operation operation, const ServerCapabilities& server) const;
  /// Members of the _meta of a request, without braces.
  virtual std::string request_meta(const RequestMeta& meta) const;
  /// Members of the params, without braces.
  virtual std::string completion(const CompletionReference& reference,
                                 const CompletionArgument& argument,
                                 const CompletionContext& context) const;
  /// Adds the fields that say a second time what a request says; `name` is what it asks for.
  virtual void add_fields(rpc::MessageFields& fields, std::string_view method,
                          std::optional<std::string_view> name) const;
  /// Why a tool with this schema cannot be called over a carrier with fields.
  virtual std::optional<Error> check_schema(json::View input_schema) const;
  /// Learns from a page of a list of tools which fields their calls need.
  virtual void learn_tools(ToolParamHeaders& known, json::View tools, bool is_first_page) const;
  /// Whether the server refused a call because of those fields: what is known of its tools is
  /// outdated then.
  virtual bool is_outdated(const Error& error) const noexcept;
  virtual ResultKind kind_of(json::View result) const noexcept;
  /// How long a result may be used again; zero if not at all.
  virtual Duration time_to_live(json::View result) const noexcept;

  // A client is asked and told.

  /// Calls what has to be done with a request of the server.
  virtual void receive(std::string_view method, ServerRequest& request) const;
  /// Whom a change that the server tells of is for.
  virtual Audience audience_of(json::View params) const noexcept;
  /// Answers; an error if there are no words for it.
  virtual Result<std::string> sampling_result(SamplingResult result) const;
  virtual std::string roots_result(std::vector<Root> roots) const;

 private:
  const std::string_view revision_;
  const std::span<const Method> methods_;
};

/// Text content, straight from the text.
inline void write_text_content(json::Writer& writer, std::string_view text) {
  writer.raw_key(R"({"type":"text","text":)");
  writer.value(text);
  writer.end_object();
}
/// The member "content" of a result that is one text.
inline void write_only_text(json::Writer& writer, std::string_view text) {
  writer.raw_key(R"("content":[{"type":"text","text":)");
  writer.value(text);
  writer.end_object();
  writer.end_array();
}

}  // namespace godwit::inline v0::mcp
