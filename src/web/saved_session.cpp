#include "saved_session.hpp"

#include <optional>
#include <utility>

#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/json/writer.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// Who somebody is. What else was verified about them is verified anew with each request.
struct Owner {
  std::string issuer{};
  std::string subject{};
  std::string client{};
};

struct Saved {
  int format{};
  std::optional<Owner> owner{};
  std::vector<SavedStream> streams{};
  RawJson service{};
};

/// Another one is another program's, or a later one's.
constexpr int present_format = 1;

}  // namespace

std::string write_saved(const rpc::Identity* owner, const std::vector<SavedStream>& streams,
                        std::string_view service) {
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  writer.key("format");
  writer.value(present_format);
  if (owner) {
    writer.key("owner");
    json::write(writer,
                Owner{.issuer = owner->issuer, .subject = owner->subject, .client = owner->client});
  }
  writer.key("streams");
  json::write(writer, streams);
  writer.key("service");
  writer.raw(service);
  writer.end_object();
  return out;
}

Result<SavedSession> read_saved(std::string_view text) {
  Result<Saved> saved = json::decode<Saved>(text);
  if (!saved) return std::move(saved).error();
  if (saved->format != present_format) {
    return error("it was saved in format " + std::to_string(saved->format) + "; " +
                 std::to_string(present_format) + " can be read");
  }
  SavedSession out{.owner = nullptr,
                   .streams = std::move(saved->streams),
                   .service = std::move(saved->service.text)};
  if (saved->owner) {
    out.owner = std::make_shared<const rpc::Identity>(
        rpc::Identity{.issuer = std::move(saved->owner->issuer),
                      .subject = std::move(saved->owner->subject),
                      .client = std::move(saved->owner->client)});
  }
  return out;
}

}  // namespace godwit::inline v0::detail::web
