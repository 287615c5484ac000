// The defaults are promises: programs are built around them. Where they hold is tested in the
// modules that keep them.
#include "godwit/base/limits.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr Limits limits{};

TEST(LimitsDefault, OfMessages) {
  EXPECT_EQ(limits.message_bytes_in, 4 * mib);
  EXPECT_EQ(limits.message_bytes_out, 16 * mib);
  EXPECT_EQ(limits.json_depth, 128u);
  EXPECT_EQ(limits.json_members, 10'000u);
  EXPECT_EQ(limits.json_items, 1'000'000u);
  EXPECT_EQ(limits.json_key_bytes, 8 * kib);
  EXPECT_EQ(limits.json_number_chars, 1'100u);
  EXPECT_EQ(limits.batch_entries, 100u);
  EXPECT_EQ(limits.name_bytes, 1 * kib);
  EXPECT_EQ(limits.uri_bytes, 8 * kib);
}

TEST(LimitsDefault, OfCalls) {
  EXPECT_EQ(limits.in_flight, 128u);
  EXPECT_EQ(limits.in_flight_bytes, 16 * mib);
  EXPECT_EQ(limits.process_in_flight, 10'000u);
  EXPECT_EQ(limits.process_in_flight_bytes, 256 * mib);
  EXPECT_EQ(limits.pending_calls, 10'000u);
  EXPECT_EQ(limits.call_timeout, 60s);
}

TEST(LimitsDefault, OfConnections) {
  EXPECT_EQ(limits.output_queue_bytes, 1 * mib);
  EXPECT_EQ(limits.output_wait, 1s);
  EXPECT_EQ(limits.discard_bytes, 64 * mib);
  EXPECT_EQ(limits.connections, 10'000u);
  EXPECT_EQ(limits.connections_per_address, 256u);
  EXPECT_EQ(limits.write_stall, 30s);
  EXPECT_EQ(limits.first_message_time, 30s);
  EXPECT_EQ(limits.tls_handshake_time, 10s);
  EXPECT_EQ(limits.tls_handshake_bytes, 256 * kib);
  EXPECT_EQ(limits.eof_grace, 1s);
  EXPECT_EQ(limits.child_stderr_tail, 64 * kib);
}

TEST(LimitsDefault, OfHttp) {
  EXPECT_EQ(limits.http_line_bytes, 8 * kib);
  EXPECT_EQ(limits.http_header_bytes, 32 * kib);
  EXPECT_EQ(limits.http_headers, 100u);
  EXPECT_EQ(limits.http_trailer_bytes, 8 * kib);
  EXPECT_EQ(limits.http_header_time, 10s);
  EXPECT_EQ(limits.http_body_idle, 30s);
  EXPECT_EQ(limits.http_request_time, 300s);
  EXPECT_EQ(limits.admission_time, 10s);
  EXPECT_EQ(limits.http_keep_alive, 75s);
  EXPECT_EQ(limits.process_body_bytes, 256 * mib);
  EXPECT_EQ(limits.http_interim_answers, 16u);
  EXPECT_EQ(limits.http_redirects, 3u);
  EXPECT_EQ(limits.authorization_retries, 8u);
  EXPECT_EQ(limits.authorization_time, 10min);
  EXPECT_EQ(limits.refusal_body_bytes, 16 * kib);
  EXPECT_EQ(limits.sse_event_bytes, 16 * mib);
  EXPECT_EQ(limits.sse_keep_alive, 15s);
  EXPECT_EQ(limits.sse_comment_bytes, 64 * kib);
  EXPECT_EQ(limits.sse_id_bytes, 1 * kib);
  EXPECT_EQ(limits.sse_retry_least, 100ms);
  EXPECT_EQ(limits.sse_retry_most, 60s);
}

TEST(LimitsDefault, OfWebSockets) {
  EXPECT_EQ(limits.ws_fragments, 1'024u);
  EXPECT_EQ(limits.ws_control_frames, 50u);
  EXPECT_EQ(limits.ws_handshake_time, 5s);
  EXPECT_EQ(limits.ws_close_time, 1s);
  EXPECT_EQ(limits.ws_ping_time, 30s);
}

TEST(LimitsDefault, OfSessions) {
  EXPECT_EQ(limits.sessions, 100'000u);
  EXPECT_EQ(limits.sessions_per_address, 10'000u);
  EXPECT_EQ(limits.session_idle, 30min);
  EXPECT_EQ(limits.session_first_message_time, 30s);
  EXPECT_EQ(limits.session_bytes, 256 * kib);
  EXPECT_EQ(limits.process_session_bytes, 256 * mib);
  EXPECT_EQ(limits.session_resumptions, 16u);
  EXPECT_EQ(limits.session_streams, 64u);
  EXPECT_EQ(limits.stream_events, 1'000u);
  EXPECT_EQ(limits.stream_bytes, 8 * mib);
  EXPECT_EQ(limits.stream_time, 5min);
  EXPECT_EQ(limits.event_store_bytes, 1024 * mib);
  EXPECT_EQ(limits.unkept_bytes, 1 * mib);
  EXPECT_EQ(limits.store_time, 10s);
  EXPECT_EQ(limits.resumption_bytes, 64 * mib);
  EXPECT_EQ(limits.session_store_bytes, 256 * mib);
}

TEST(LimitsDefault, OfClients) {
  EXPECT_EQ(limits.list_entries, 100'000u);
  EXPECT_EQ(limits.list_bytes, 64 * mib);
}

TEST(LimitsDefault, AMemberThatIsNewIsPinnedHereToo) {
  // Counted by the compiler: one more, and this does not compile before it has a line above.
  const auto [a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, b3, b4, c1, c2, c3, c4, c5, c6, c7, c8, d1,
              d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, e1, e2, e3, e4, e5, f1,
              f2, f3, f4, f5, f6, f7, g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, g12, g13, g14,
              g15, g16, g17, g18, g19, h1, h2, h3, h4, h5] = limits;
  EXPECT_EQ(a1, limits.message_bytes_in);
}

}  // namespace
}  // namespace godwit::inline v0
