// The codec of the stateless era: every request says all about its sender, and servers never ask on
// their own. For the files of this era and for select.cpp only.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec.hpp"

namespace godwit::inline v0::mcp {

namespace meta_key {
inline constexpr std::string_view protocol_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view client_capabilities =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view client_info = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view server_info = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view subscription_id = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta_key

namespace code {
inline constexpr std::int64_t header_mismatch = -32020;
inline constexpr std::int64_t missing_capability = -32021;
inline constexpr std::int64_t unsupported_version = -32022;
}  // namespace code

class StatelessCodec final : public Codec {
 public:
  StatelessCodec() noexcept;

  std::optional<Error> admit(Incoming& message, const Eras& eras) const override;
  std::optional<Error> check_target(const rpc::HeaderFields& fields, std::string_view method,
                                    json::View params) const override;
  std::optional<Error> check_arguments(const rpc::HeaderFields& fields,
                                       std::span<const ParamHeader> headers,
                                       json::View arguments) const override;
  Error unsupported_revision(std::string_view requested, const Eras& eras) const override;

  void begin_result(json::Writer& writer) const override;
  void begin_typed_result(json::Writer& writer, std::string_view type) const override;
  void end_result(json::Writer& writer, const ResultEnd& end) const override;
  std::string_view result_type(const ToolResult& result) const override;
  std::string take_result_type(json::Object& result) const override;
  std::string_view subscription_key() const noexcept override;

  std::optional<Error> missing_capability(std::string_view what,
                                          std::string_view required) const override;
  int http_status(const Error& error) const noexcept override;

  std::string introduction(const ClientCapabilities& capabilities,
                           const Implementation& client) const override;
  Result<Welcome> read_discovery(json::View result) const override;
  std::optional<std::vector<std::string>> spoken_instead(const Error& error) const override;
  bool is_own_error(const Error& error) const noexcept override;

  std::optional<Operation> message_for(Wish wish) const noexcept override;
  std::string request_meta(const RequestMeta& meta) const override;
  void add_fields(rpc::MessageFields& fields, std::string_view method,
                  std::optional<std::string_view> name) const override;
  std::optional<Error> check_schema(json::View input_schema) const override;
  void learn_tools(ToolParamHeaders& known, json::View tools, bool is_first_page) const override;
  bool is_outdated(const Error& error) const noexcept override;
  ResultKind kind_of(json::View result) const noexcept override;
  Duration time_to_live(json::View result) const noexcept override;

  void receive(std::string_view method, ServerRequest& request) const override;
  Audience audience_of(json::View params) const noexcept override;
};

const Codec& stateless_codec() noexcept;

/// The answer to a request without the members that every one needs.
Error missing_meta(std::string_view key);

}  // namespace godwit::inline v0::mcp
