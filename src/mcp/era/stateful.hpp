// The codecs of the stateful era: a handshake agrees on revision and capabilities, and both sides
// may ask. For the files of this era and for select.cpp only.
#pragma once

#include <cstddef>
#include <span>

#include "codec.hpp"

namespace godwit::inline v0::mcp {

/// In which the revisions of this era differ.
struct Traits {
  /// Rows of the table of methods; no revision took one back.
  std::size_t methods = 0;
  /// Several messages in one array.
  bool batches = false;
  /// Blocks of audio; an embedded resource takes their place.
  bool audio = false;
  /// Annotations of tools.
  bool tool_annotations = false;
  /// The capability for completion. The first revision had completion and no word for it.
  bool completions = false;
  /// Sentences in progress reports.
  bool progress_messages = false;
  /// Titles, _meta on types, dates in annotations, arguments chosen before a completion.
  bool titles = false;
  /// Links to resources; text takes their place.
  bool links = false;
  /// Results of tools that are objects, and their schemas.
  bool structured = false;
  /// Icons, and more about an implementation than its name.
  bool icons = false;
  /// Questions to the person at the client.
  bool elicitation = false;
  /// Of those, forms with lists and urls to open.
  bool elicitation_modes = false;
  /// Tools in sampling, several blocks in one message.
  bool sampling_tools = false;
  /// Arguments that do not fit are the tool's answer.
  bool misfits_for_model = false;
  /// Over HTTP a stream begins with an event that says how to come back to it.
  bool primed_streams = false;
};

class StatefulCodec final : public Codec {
 public:
  StatefulCodec(std::string_view revision, const Traits& traits) noexcept;

  void write_tool(json::Writer& writer, const Tool& tool) const override;
  void write_resource(json::Writer& writer, const Resource& resource) const override;
  void write_template(json::Writer& writer, const ResourceTemplate& resource) const override;
  void write_prompt(json::Writer& writer, const Prompt& prompt) const override;
  void write_message(json::Writer& writer, const PromptMessage& message) const override;
  void write_content(json::Writer& writer, const Content& content) const override;
  void write_resource_contents(json::Writer& writer,
                               const ResourceContents& contents) const override;
  void write_capabilities(json::Writer& writer, const ServerCapabilities& offered) const override;
  void write_progress(json::Writer& writer, const ProgressReport& report) const override;

  Result<Handshake> read_handshake(json::View params, const Eras& eras) const override;
  void write_handshake_result(json::Writer& writer, const ServerFacts& server) const override;

  const ServerCapabilities& offered(const ServerCapabilities& promised,
                                    const ServerCapabilities& now) const noexcept override;
  bool declares(const RequestFacts& facts, const ClientCapabilities* agreed,
                const std::string& extension) const override;
  void read_sender(const RequestFacts& facts, Implementation& sender,
                   ClientCapabilities& capabilities) const override;
  bool wants_log(LoggingLevel level, LoggingLevel agreed, const RequestFacts& facts) const override;
  Round continued(json::View responses, json::View state) const override;
  void between_requests(Function<void()> use) const override;

  void write_structured(json::Writer& writer, std::string_view json) const override;
  std::int64_t not_found_code() const noexcept override;
  Error bad_arguments(Error error, std::string text) const override;

  void ask(Asking& ways) const override;
  Worded word_form(const ElicitRequest& form, const ClientCapabilities& client) const override;
  Worded word_url(const ElicitRequest& url, const ClientCapabilities& client) const override;
  Worded word_sampling(SamplingRequest request, const ClientCapabilities& client) const override;

  CarrierRules carrier_rules() const noexcept override;

  void write_handshake(json::Writer& writer, const ClientCapabilities& capabilities,
                       const Implementation& client) const override;
  Result<Welcome> read_handshake_result(json::View result, const Eras& eras) const override;

  std::optional<Operation> message_for(Wish wish) const noexcept override;
  std::string_view missing(Operation operation, const ServerCapabilities& server) const override;
  std::string completion(const CompletionReference& reference, const CompletionArgument& argument,
                         const CompletionContext& context) const override;
  Result<std::string> sampling_result(SamplingResult result) const override;
  std::string roots_result(std::vector<Root> roots) const override;

 private:
  const Traits traits_;
};

/// Oldest first.
std::span<const Codec* const> stateful_codecs() noexcept;

}  // namespace godwit::inline v0::mcp
