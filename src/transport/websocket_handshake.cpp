#include "websocket_handshake.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "godwit/base/base64.hpp"
#include "godwit/base/random.hpp"
#include "godwit/http/admission.hpp"
#include "godwit/http/response.hpp"
#include "godwit/transport/websocket.hpp"

namespace godwit::inline v0 {

namespace {

/// RFC 3174. Broken as a cryptographic hash, but RFC 6455 uses it only to tell a WebSocket server
/// from one that repeats what it is told.
std::string sha1(std::string_view text) {
  std::array<std::uint32_t, 5> h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::string padded(text);
  padded.push_back('\x80');
  while (padded.size() % 64 != 56) padded.push_back('\0');
  const std::uint64_t bits = text.size() * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<char>((bits >> shift) & 0xff));
  }
  for (std::size_t block = 0; block < padded.size(); block += 64) {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 64; ++i) {
      w[i / 4] = w[i / 4] << 8 | static_cast<std::uint8_t>(padded[block + i]);
    }
    for (std::size_t i = 16; i < 80; ++i) {
      w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    auto [a, b, c, d, e] = h;
    for (std::size_t i = 0; i < 80; ++i) {
      const std::uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                              : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                              : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                       : (b ^ c ^ d) + 0xca62c1d6;
      const std::uint32_t next = std::rotl(a, 5) + f + e + w[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
  }
  std::string digest;
  for (const std::uint32_t word : h) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      digest.push_back(static_cast<char>((word >> shift) & 0xff));
    }
  }
  return digest;
}

/// 16 bytes in Base64.
bool is_key(std::string_view key) {
  const auto bytes = from_base64(key);
  return bytes && bytes->size() == 16;
}

http::Response refused(int status, std::string why, http::Fields fields = {}) {
  fields.set("Content-Type", "text/plain; charset=utf-8");
  return {.status = status, .fields = std::move(fields), .body = std::move(why) + "\n"};
}

/// The members of comma-separated lists, in all fields of this name.
template <class Visit>
void each_member(http::FieldsView fields, std::string_view name, Visit visit) {
  for (const http::Field& field : fields) {
    if (!http::same_name(field.name, name)) continue;
    std::string_view left = field.value;
    while (!left.empty()) {
      const std::size_t comma = left.find(',');
      std::string_view member = left.substr(0, comma);
      left = comma == left.npos ? std::string_view() : left.substr(comma + 1);
      while (member.starts_with(' ') || member.starts_with('\t')) member.remove_prefix(1);
      while (member.ends_with(' ') || member.ends_with('\t')) member.remove_suffix(1);
      visit(member);
    }
  }
}

}  // namespace

namespace detail::transport {

std::string websocket_key() {
  std::string bytes;
  for (int word = 0; word < 4; ++word) {
    const std::uint32_t bits = random_bits();
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>((bits >> shift) & 0xff));
    }
  }
  return base64(bytes);
}

std::string websocket_accept(std::string_view key) {
  return base64(sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
}

std::string chosen_protocol(const http::Request& request, std::span<const std::string> ours) {
  for (const std::string& protocol : ours) {
    bool offered = false;
    each_member(request.fields, "Sec-WebSocket-Protocol",
                [&](std::string_view member) { offered = offered || member == protocol; });
    if (offered) return protocol;
  }
  return {};
}

std::string handshake_answer(const http::Request& request, std::string_view protocol) {
  std::string out =
      "HTTP/1.1 101 Switching Protocols\r\n"
      "Upgrade: websocket\r\n"
      "Connection: Upgrade\r\n";
  http::Fields fields;
  fields.add("Sec-WebSocket-Accept",
             websocket_accept(request.fields.find("Sec-WebSocket-Key").value_or("")));
  if (!protocol.empty()) fields.add("Sec-WebSocket-Protocol", protocol);
  fields.write(out);
  if (request.admitted) request.admitted->fields.write(out);
  out += "\r\n";
  return out;
}

std::string handshake_request(const http::Url& url, std::string_view key,
                              std::span<const std::string> protocols, const http::Fields& more) {
  std::string out = "GET " + url.target + " HTTP/1.1\r\n";
  http::Fields fields{{"Host", url.authority()},
                      {"Upgrade", "websocket"},
                      {"Connection", "Upgrade"},
                      {"Sec-WebSocket-Key", key},
                      {"Sec-WebSocket-Version", "13"}};
  std::string list;
  for (const std::string& protocol : protocols) {
    if (!list.empty()) list += ", ";
    list += protocol;
  }
  if (!list.empty()) fields.add("Sec-WebSocket-Protocol", list);
  for (const auto& [name, value] : more) {
    if (!fields.find(name)) fields.add(name, value);  // what the handshake says stays as it is
  }
  fields.write(out);
  out += "\r\n";
  return out;
}

Error not_switched(int status) {
  return error("the server answered " + std::to_string(status) + " " +
               std::string(http::reason_of(status)) + " instead of opening a WebSocket");
}

std::optional<Error> handshake_refused(int status, http::FieldsView fields, std::string_view key,
                                       std::span<const std::string> protocols) {
  if (status != 101) return not_switched(status);
  if (!fields.lists("Upgrade", "websocket") || !fields.lists("Connection", "upgrade")) {
    return error("the server switched to something that is no WebSocket");
  }
  if (fields.count("Sec-WebSocket-Accept") != 1 ||
      fields.find("Sec-WebSocket-Accept") != websocket_accept(key)) {
    return error("the server is no WebSocket server: its Sec-WebSocket-Accept is wrong");
  }
  if (fields.count("Sec-WebSocket-Extensions") > 0) {
    return error("the server uses a WebSocket extension that was not offered");
  }
  if (const auto protocol = fields.find("Sec-WebSocket-Protocol")) {
    if (fields.count("Sec-WebSocket-Protocol") > 1 ||
        std::ranges::find(protocols, *protocol) == protocols.end()) {
      return error("the server chose a WebSocket subprotocol that was not offered");
    }
  }
  return std::nullopt;
}

}  // namespace detail::transport

std::optional<http::Response> WebSocketTransport::refusal(const http::Request& request) {
  if (request.method != "GET") {
    return refused(405, "a WebSocket begins with GET", {{"Allow", "GET"}});
  }
  if (!request.fields.lists("Upgrade", "websocket") ||
      !request.fields.lists("Connection", "upgrade")) {
    return refused(426, "this address speaks WebSocket", {{"Upgrade", "websocket"}});
  }
  if (request.fields.count("Sec-WebSocket-Version") != 1 ||
      request.fields.find("Sec-WebSocket-Version") != "13") {
    return refused(426, "Sec-WebSocket-Version must be 13",
                   {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}});
  }
  if (request.fields.count("Sec-WebSocket-Key") != 1 ||
      !is_key(*request.fields.find("Sec-WebSocket-Key"))) {
    return refused(400, "Sec-WebSocket-Key must be 16 bytes in Base64");
  }
  if (!request.body.empty()) return refused(400, "a WebSocket handshake has no body");
  return std::nullopt;
}

}  // namespace godwit::inline v0
