#include "godwit/rpc/meta.hpp"

namespace godwit::inline v0::json {

bool Codec<rpc::ProgressToken>::read(View view, rpc::ProgressToken& out, DecodeFailure& failure) {
  const bool fits = view.is_string() || (view.is_number() && !view.is_real());
  if (!fits) return failure.expected("a string or an integer", view);
  out.id_ = *rpc::Id::from(view);
  return true;
}

bool Codec<rpc::RequestMeta>::read(View view, rpc::RequestMeta& out, DecodeFailure& failure) {
  if (!view.is_object()) return failure.expected("an object", view);
  if (const auto twice = view.duplicate_key()) return failure.twice(*twice);
  out = {};
  const std::string_view name = "progressToken";
  if (const View token = view.find(name)) {
    if (!json::read(token, out.progress_token.emplace(), failure)) return failure.inside(name);
  }
  out.other = std::move(*Value(view).as_object());  // at once: adding one by one is quadratic
  out.other.erase(name);
  return true;
}

void Codec<rpc::RequestMeta>::write(Writer& writer, const rpc::RequestMeta& meta) {
  writer.begin_object();
  if (meta.progress_token) {
    writer.key("progressToken");
    meta.progress_token->id().write(writer);
  }
  for (const Member& member : meta.other) {
    writer.key(member.key);
    writer.value(member.value);
  }
  writer.end_object();
}

Value Codec<rpc::RequestMeta>::schema() {
  return Object{{"type", "object"},
                {"properties", Object{{"progressToken", Codec<rpc::ProgressToken>::schema()}}}};
}

}  // namespace godwit::inline v0::json

namespace godwit::inline v0::rpc {

Result<std::optional<RequestMeta>> request_meta(json::View params) {
  const json::View meta = params.find("_meta");
  if (!meta) return std::optional<RequestMeta>();
  RequestMeta out;
  json::DecodeFailure failure;
  if (!json::read(meta, out, failure)) {
    failure.inside("_meta");
    return failure.to_error();
  }
  return std::optional<RequestMeta>(std::move(out));
}

}  // namespace godwit::inline v0::rpc
