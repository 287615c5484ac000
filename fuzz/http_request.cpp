// Any way of cutting the input into pieces gives the same requests and the same error; memory stays
// bounded; every body has its spare bytes and keeps the limit; what was accepted, written again, is
// read as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/http/request_parser.hpp"

namespace {

using godwit::Limits;
using godwit::http::Field;
using godwit::http::Request;
using godwit::http::RequestParser;
using Event = RequestParser::Event;

void check(bool good) {
  if (!good) std::abort();
}

struct Seen {
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  bool keep_alive = false;
  bool expects_continue = false;
  bool wants_upgrade = false;
  bool operator==(const Seen&) const = default;
};

struct Outcome {
  std::vector<Seen> requests;
  int status = 0;
  std::string error;
  bool partial = false;
  bool operator==(const Outcome&) const = default;
};

Seen seen(const RequestParser& parser) {
  const Request& request = parser.request();
  Seen out{.method = std::string(request.method),
           .target = std::string(request.target),
           .fields = {},
           .body = std::string(request.body),
           .keep_alive = parser.keep_alive(),
           .expects_continue = parser.expects_continue(),
           .wants_upgrade = parser.wants_upgrade()};
  for (const Field& field : request.fields) {
    check(godwit::http::is_token(field.name) && godwit::http::is_field_value(field.value));
    out.fields.emplace_back(field.name, field.value);
  }
  return out;
}

template <class NextSize>
Outcome run(std::string_view bytes, const Limits& limits, NextSize next_size) {
  RequestParser parser(limits);
  Outcome out;
  while (!bytes.empty()) {
    const auto space = parser.prepare();
    check(!space.empty());
    check(parser.capacity() <= 80u << 10);
    const std::size_t size = std::min({space.size(), bytes.size(), next_size()});
    std::memcpy(space.data(), bytes.data(), size);
    parser.commit(size);
    bytes.remove_prefix(size);
    bool told = false;
    for (Event event; (event = parser.next()) != Event::none;) {
      if (event == Event::failed) {
        out.status = parser.status();
        out.error = parser.error().message;
        check(parser.next() == Event::failed && !parser.prepare().empty());
        return out;
      }
      const Request& request = parser.request();
      check(!request.method.empty() && !request.target.empty());
      check(request.fields.count("Host") == 1);
      if (event == Event::head) {
        check(!std::exchange(told, true) && parser.partial() && request.body.empty());
        continue;
      }
      told = false;
      check(request.spare >= RequestParser::padding);
      check(request.body.size() <= limits.message_bytes_in);
      out.requests.push_back(seen(parser));
    }
  }
  out.partial = parser.partial();
  return out;
}

std::string written(const Seen& request, bool http_1_0) {
  std::string out =
      request.method + " " + request.target + (http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  bool counted = false;
  for (const auto& [name, value] : request.fields) {
    if (godwit::http::same_name(name, "Transfer-Encoding")) continue;
    counted = counted || godwit::http::same_name(name, "Content-Length");
    out += name + ": " + value + "\r\n";
  }
  if (!counted) out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  Limits limits;
  limits.message_bytes_in = data[0];
  if (data[1] & 1) limits.http_line_bytes = 16 + (data[1] >> 1);
  if (data[2] & 1) limits.http_header_bytes = 8u + data[2];
  if (data[2] & 2) limits.http_headers = data[2] >> 5;
  if (data[2] & 4) limits.http_trailer_bytes = data[2] >> 3;
  std::uint32_t seed = data[3] | 1u;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);

  const Outcome whole = run(bytes, limits, [] { return SIZE_MAX; });
  check(run(bytes, limits, [] { return std::size_t{1}; }) == whole);
  check(run(bytes, limits, [&] {
          seed = seed * 1664525u + 1013904223u;
          return static_cast<std::size_t>(1 + (seed >> 24) % 60);
        }) == whole);

  Limits wide;  // a Content-Length may be one field more
  wide.http_headers *= 2;
  wide.http_header_bytes *= 2;
  for (const Seen& request : whole.requests) {
    const auto same = [&](bool http_1_0) {
      const Outcome again = run(written(request, http_1_0), wide, [] { return std::size_t{11}; });
      if (again.status != 0 || again.requests.size() != 1 || again.partial) return false;
      const Seen& other = again.requests[0];
      const auto rest = [](const Seen& one) {
        auto fields = one.fields;
        std::erase_if(fields, [](const auto& field) {
          return godwit::http::same_name(field.first, "Content-Length") ||
                 godwit::http::same_name(field.first, "Transfer-Encoding");
        });
        return fields;
      };
      return other.method == request.method && other.target == request.target &&
             other.body == request.body && rest(other) == rest(request) &&
             other.keep_alive == request.keep_alive;
    };
    check(same(false) || same(true));
  }
  return 0;
}
