// Any way of cutting the input into pieces gives the same responses, with the connection left open
// and ended; the head keeps its limits, and pieces of the body are never empty.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/http/response_parser.hpp"

namespace {

using godwit::Limits;
using godwit::http::Field;
using godwit::http::ResponseParser;
using Event = ResponseParser::Event;

void check(bool good) {
  if (!good) std::abort();
}

/// Takes what there is. Pieces of one body are put together, since they depend on the cuts.
void take(ResponseParser& parser, const char* method, std::vector<std::string>& out) {
  for (Event event; (event = parser.next()) != Event::none;) {
    switch (event) {
      case Event::head:
        check(parser.status() >= 200 || parser.status() == 101);
        out.push_back("head " + std::to_string(parser.status()));
        for (const Field& field : parser.fields()) {
          check(godwit::http::is_token(field.name) && godwit::http::is_field_value(field.value));
          out.back() += "[" + std::string(field.name) + "=" + std::string(field.value) + "]";
        }
        out.push_back("body ");
        break;
      case Event::body:
        check(!parser.body().empty());
        out.back() += parser.body();
        break;
      case Event::end:
        check(!parser.reusable() || parser.rest().empty());
        out.push_back("end");
        parser.begin(method);
        break;
      default:
        check(parser.next() == Event::failed && !parser.reusable());
        out.push_back("failed " + parser.error().message);
        return;
    }
  }
}

template <class NextSize>
std::vector<std::string> run(std::string_view bytes, const Limits& limits, const char* method,
                             bool finish, NextSize next_size) {
  ResponseParser parser(limits);
  parser.begin(method);
  std::vector<std::string> out;
  const auto failed = [&] { return !out.empty() && out.back().starts_with("failed"); };
  while (!bytes.empty() && !failed()) {
    const auto space = parser.prepare();
    check(!space.empty() && space.size() <= 64u << 10);
    const std::size_t size = std::min({space.size(), bytes.size(), next_size()});
    std::memcpy(space.data(), bytes.data(), size);
    parser.commit(size);
    bytes.remove_prefix(size);
    take(parser, method, out);
  }
  if (finish && !failed()) {
    parser.finish();
    take(parser, method, out);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  Limits limits;
  if (data[0] & 1) limits.http_line_bytes = 16 + (data[0] >> 1);
  if (data[1] & 1) limits.http_header_bytes = 8u + data[1];
  if (data[1] & 2) limits.http_headers = data[1] >> 5;
  if (data[1] & 4) limits.http_trailer_bytes = data[1] >> 3;
  constexpr const char* methods[] = {"GET", "POST", "HEAD", "CONNECT"};
  const char* const method = methods[data[2] & 3];
  const bool finish = data[2] & 4;
  std::uint32_t seed = data[3] | 1u;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);

  const auto whole = run(bytes, limits, method, finish, [] { return SIZE_MAX; });
  check(run(bytes, limits, method, finish, [] { return std::size_t{1}; }) == whole);
  check(run(bytes, limits, method, finish, [&] {
          seed = seed * 1664525u + 1013904223u;
          return static_cast<std::size_t>(1 + (seed >> 24) % 60);
        }) == whole);
  return 0;
}
