// Metadata that rides along in the `_meta` member of params. The envelope does not judge it;
// whoever handles the request decodes it with these types, so that a mistake in it is invalid
// params.
#pragma once

#include <optional>
#include <string>

#include "godwit/base/export.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/value.hpp"
#include "godwit/rpc/id.hpp"

namespace godwit::inline v0::rpc {

/// Ties progress reports to the request they are about: a string or an integer.
class GODWIT_API ProgressToken {
 public:
  ProgressToken() = default;
  ProgressToken(std::string text) : id_(std::move(text)) {}
  ProgressToken(const char* text) : id_(text) {}
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  ProgressToken(I number) : id_(number) {}

  const Id& id() const noexcept { return id_; }
  bool operator==(const ProgressToken&) const = default;

 private:
  friend struct json::Codec<ProgressToken>;
  Id id_{std::int64_t{0}};
};

/// `_meta` of a request. Members beyond the known ones are kept.
struct RequestMeta {
  std::optional<ProgressToken> progress_token{};
  json::Object other{};

  bool operator==(const RequestMeta&) const = default;
};

/// The `_meta` of these params; nothing if there is none.
GODWIT_API Result<std::optional<RequestMeta>> request_meta(json::View params);

}  // namespace godwit::inline v0::rpc

template <>
struct GODWIT_API godwit::json::Codec<godwit::rpc::ProgressToken> {
  static bool read(View view, rpc::ProgressToken& out, DecodeFailure& failure);
  static void write(Writer& writer, const rpc::ProgressToken& token) { token.id().write(writer); }
  static Value schema() { return Object{{"type", Array{"string", "integer"}}}; }
};

template <>
struct GODWIT_API godwit::json::Codec<godwit::rpc::RequestMeta> {
  static bool read(View view, rpc::RequestMeta& out, DecodeFailure& failure);
  static void write(Writer& writer, const rpc::RequestMeta& meta);
  static Value schema();
};
