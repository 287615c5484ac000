// Any way of cutting the input into pieces gives the same events, in both framings; memory stays
// bounded; every message has its spare bytes and keeps the limit.
#include "godwit/transport/framing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using godwit::FrameDecoder;
using godwit::Framing;
using Event = FrameDecoder::Event;

void check(bool good) {
  if (!good) std::abort();
}

template <class NextSize>
std::vector<std::string> run(std::string_view bytes, Framing framing, const godwit::Limits& limits,
                             NextSize next_size) {
  FrameDecoder decoder(framing, limits);
  std::vector<std::string> events;
  while (!bytes.empty()) {
    const auto space = decoder.prepare();
    check(!space.empty());
    check(decoder.capacity() <= 64u << 10);
    const std::size_t size = std::min({space.size(), bytes.size(), next_size()});
    std::memcpy(space.data(), bytes.data(), size);
    decoder.commit(size);
    bytes.remove_prefix(size);
    for (;;) {
      const Event event = decoder.next();
      if (event == Event::none) break;
      if (event == Event::message) {
        check(decoder.spare() >= FrameDecoder::padding);
        check(decoder.message().size() <= limits.message_bytes_in);
        check(framing != Framing::newline ||
              decoder.message().find('\n') == std::string_view::npos);
        events.push_back("m" + std::string(decoder.message()));
      } else {
        events.push_back(decoder.error().message);
        if (event == Event::fatal) return events;
      }
    }
  }
  events.push_back(decoder.partial() ? "partial" : "whole");
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  godwit::Limits limits;
  limits.message_bytes_in = data[0];
  limits.discard_bytes = limits.message_bytes_in + data[1];
  const Framing framing = data[2] & 1 ? Framing::content_length : Framing::newline;
  std::uint32_t seed = data[3] | 1u;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);

  const auto whole = run(bytes, framing, limits, [] { return SIZE_MAX; });
  check(run(bytes, framing, limits, [] { return std::size_t{1}; }) == whole);
  check(run(bytes, framing, limits, [&] {
          seed = seed * 1664525u + 1013904223u;
          return static_cast<std::size_t>(1 + (seed >> 24) % 40);
        }) == whole);

  // What is framed is read back.
  if (framing == Framing::content_length ||
      (bytes.find_first_of("\r\n") == bytes.npos && bytes.find_first_not_of(" \t") != bytes.npos)) {
    limits.message_bytes_in = limits.discard_bytes = bytes.size();
    std::string framed(bytes);
    godwit::finish_frame(framed, 0, framing);
    const auto back = run(framed, framing, limits, [] { return std::size_t{7}; });
    check(back.size() == 2 && back[0] == "m" + std::string(bytes) && back[1] == "whole");
  }
  return 0;
}
