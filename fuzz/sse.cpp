// Any way of cutting the input into pieces gives the same events; events keep the limit; what is
// written is read back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/http/sse_decoder.hpp"
#include "godwit/http/sse_event.hpp"

namespace {

using godwit::http::SseDecoder;
using godwit::http::SseEvent;
using Event = SseDecoder::Event;

void check(bool good) {
  if (!good) std::abort();
}

struct Seen {
  std::string type;
  std::string data;
  std::string id;
  bool has_id = false;
  std::optional<std::uint64_t> retry;
  std::string last_id;
  bool operator==(const Seen&) const = default;
};

struct Outcome {
  std::vector<Seen> events;
  bool failed = false;
  bool operator==(const Outcome&) const = default;
};

template <class NextSize>
Outcome run(std::string_view bytes, const godwit::Limits& limits, NextSize next_size) {
  SseDecoder decoder(limits);
  Outcome out;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), next_size());
    decoder.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    for (Event event; (event = decoder.next()) != Event::none;) {
      if (event == Event::failed) {
        out.failed = true;
        return out;
      }
      const SseEvent& one = decoder.event();
      check(one.event.size() + one.data.size() + one.id.value_or("").size() <=
            limits.sse_event_bytes);
      check(one.event.find_first_of("\r\n") == one.event.npos);
      check(one.data.find('\r') == one.data.npos);
      out.events.push_back({.type = std::string(one.event),
                            .data = std::string(one.data),
                            .id = std::string(one.id.value_or("")),
                            .has_id = one.id.has_value(),
                            .retry = one.retry,
                            .last_id = decoder.last_id()});
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  godwit::Limits limits;
  if (data[0] > 0) limits.sse_event_bytes = data[0];
  std::uint32_t seed = data[1] | 1u;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  const Outcome whole = run(bytes, limits, [] { return SIZE_MAX; });
  check(run(bytes, limits, [] { return std::size_t{1}; }) == whole);
  check(run(bytes, limits, [&] {
          seed = seed * 1664525u + 1013904223u;
          return static_cast<std::size_t>(1 + (seed >> 24) % 40);
        }) == whole);

  std::string again;
  for (const Seen& one : whole.events) {
    if (one.type.find('\0') != one.type.npos) return 0;  // may be read, is never written
    SseEvent event{.event = one.type, .data = one.data, .id = {}, .retry = one.retry};
    if (one.has_id) event.id = one.id;
    write_event(again, event);
    godwit::http::write_comment(again);
  }
  check(run(again, {}, [] { return std::size_t{13}; }).events == whole.events);
  return 0;
}
