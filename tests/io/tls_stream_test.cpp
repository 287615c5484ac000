// Streams of bytes through TLS: sizes, cuts, broken bytes, ends, pauses, and what callbacks may do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "godwit/io/tls.hpp"
#include "test_certificates.hpp"
#include "tls_pair.hpp"

namespace godwit::inline v0 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(TlsStream, CarriesEverySizeInBothDirections) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (const std::size_t size : {1u, 2u, 100u, 16383u, 16384u, 16385u, 70'000u, 1u << 20}) {
    for (const std::size_t space : {7u, 5000u, 100'000u}) {
      if (size > 100'000 && space < 100) continue;
      Loop loop;
      Pair pair(loop, server, client, {.server_space = space, .client_space = space});
      End& there = pair.server;
      End& here = pair.client;
      EXPECT_TRUE(here.stream->secure());
      pair.resume();
      const std::string all = pattern(size);
      there.on_each = [&] {
        if (there.got.size() == size) there.send(there.got);
      };
      here.send(all);
      ASSERT_TRUE(run_until(loop, [&] { return here.got.size() >= size; })) << size;
      EXPECT_EQ(there.got, all);
      EXPECT_EQ(here.got, all);
    }
  }
}

TEST(TlsStream, TwoThatWriteWithoutReadingFirstDoNotWaitForEachOther) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  const std::string all = pattern(3u << 20);
  pair.resume();
  pair.server.send(all);
  pair.client.send(all);
  ASSERT_TRUE(run_until(loop, [&] {
    return pair.server.got.size() == all.size() && pair.client.got.size() == all.size();
  }));
  EXPECT_EQ(pair.server.got, all);
  EXPECT_EQ(pair.client.got, all);
}

TEST(TlsStream, WorksWithPiecesOfEverySize) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  const std::string all = pattern(600);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 1; i < 40; ++i) sizes.push_back(i);
  for (std::size_t i = 40; i < 1500; i += 53) sizes.push_back(i);
  for (const std::size_t size : sizes) {
    Loop loop;
    Cutter cutter;
    Pair pair(loop, server, client, {.ends = cutter.ends()});
    End& there = pair.server;
    End& here = pair.client;
    pair.resume();
    there.shut_when_sent = here.shut_when_sent = true;
    there.send(all);
    here.send(all);
    const Loop::Work work(loop);
    for (int turn = 0; turn < 100'000 && !(here.ended && there.ended); ++turn) {
      cutter.pass(size);
      loop.poll();
      if (here.ended) cutter.b.far.reset();
    }
    EXPECT_EQ(there.got, all) << size;
    EXPECT_EQ(here.got, all) << size;
    EXPECT_EQ(there.error + here.error, "") << size;
  }
}

TEST(TlsStream, ACutAnywhereIsAnError) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  bool whole = false;
  for (std::size_t cut = 0; !whole && cut < 10'000; cut += 3) {
    Loop loop;
    Cutter cutter;
    Pair pair(loop, server, client, {.ends = cutter.ends()});
    End& there = pair.server;
    End& here = pair.client;
    pair.resume();
    here.send("hello");
    there.send("hello");
    const Loop::Work work(loop);
    // Few bytes are under way in the end, so that the cut is where it should be.
    for (int turn = 0; turn < 2000 && cutter.forward + cutter.backward < cut; ++turn) {
      cutter.pass(std::min<std::size_t>(64, cut - cutter.forward - cutter.backward));
      loop.poll();
      if (there.got == "hello" && here.got == "hello") whole = true;
      if (whole) break;
    }
    cutter.a.far.reset();
    cutter.b.far.reset();
    ASSERT_TRUE(run_until(loop, [&] { return here.ended && there.ended; })) << cut;
    EXPECT_NE(here.error, "") << cut;
    EXPECT_NE(there.error, "") << cut;
    EXPECT_TRUE(there.got.empty() || there.got == "hello");
  }
  EXPECT_TRUE(whole);
}

TEST(TlsStream, SpeaksAboutWhatIsNoTls) {
  Station station;
  const TlsContext server = station.server();
  const auto said = [&](const std::string& bytes, bool end) {
    Loop loop;
    Sockets pair = sockets();
    End there(server_end(loop, std::move(pair.near), server));
    there.stream->resume();
    EXPECT_EQ(::send(pair.far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    if (end) pair.far.reset();
    EXPECT_TRUE(run_until(loop, [&] { return there.ended; }));
    EXPECT_EQ(there.got, "");
    EXPECT_FALSE(there.stream->write_some("x"));
    return there.error;
  };
  EXPECT_THAT(said("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false), HasSubstr("plain HTTP"));
  EXPECT_THAT(said(std::string(100, '\xff'), false), HasSubstr("TLS"));
  EXPECT_THAT(said("{\"jsonrpc\":\"2.0\"}", false), HasSubstr("does not speak TLS"));
  EXPECT_THAT(said("", true), HasSubstr("ended during the TLS handshake"));
  EXPECT_THAT(said("\x16\x03", true), HasSubstr("ended during the TLS handshake"));
  unsigned random = 1;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 ? std::string("\x16\x03\x01\x00\x40", 5) : "";
    for (int n = 0; n < 200; ++n) {
      random = random * 1664525 + 1013904223;
      bytes += static_cast<char>(random >> 24);
    }
    EXPECT_NE(said(bytes, true), "");
  }
}

TEST(TlsStream, BrokenBytesAfterTheHandshakeAreAnError) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (std::size_t at = 0; at < 40; ++at) {
    Loop loop;
    Cutter cutter;
    Pair pair(loop, server, client, {.ends = cutter.ends()});
    End& there = pair.server;
    End& here = pair.client;
    pair.resume();
    here.send("first");
    cutter.pass_all(loop, there, "first");
    here.send("second, which nobody will ever read");
    std::string record(4096, '\0');
    const ssize_t size = ::recv(cutter.b.far.get(), record.data(), record.size(), 0);
    ASSERT_GT(size, 40);
    record[at] = static_cast<char>(record[at] ^ 0x55);
    ASSERT_EQ(::send(cutter.a.far.get(), record.data(), static_cast<std::size_t>(size), 0), size);
    ::shutdown(cutter.a.far.get(), SHUT_WR);
    ASSERT_TRUE(run_until(loop, [&] { return there.ended; })) << at;
    EXPECT_NE(there.error, "") << at;
    EXPECT_EQ(there.got, "first") << at;
  }
}

TEST(TlsStream, EndsInOrderWithAndWithoutHalfClose) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  pair.resume();
  pair.client.shut_when_sent = true;
  pair.client.send("question");
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));
  EXPECT_EQ(pair.server.error, "");
  EXPECT_EQ(pair.server.got, "question");
  EXPECT_FALSE(pair.client.stream->write_some("more"));
  pair.server.send("answer");  // the other direction is open
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.got == "answer"; }));
  pair.server.stream->close();
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  EXPECT_EQ(pair.client.error, "");
  EXPECT_FALSE(pair.server.stream->write_some("x"));
}

TEST(TlsStream, AnEndWithoutGoodbyeIsACut) {
  Station station;
  Loop loop;
  Cutter cutter;
  Pair pair(loop, station.server(), station.client(), {.ends = cutter.ends()});
  End& there = pair.server;
  End& here = pair.client;
  pair.resume();
  here.send("hello");
  cutter.pass_all(loop, there, "hello");
  cutter.a.far.reset();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("the connection was cut"));
}

TEST(TlsStream, WhatWasTakenIsSentThoughTheOwnerHasClosed) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  std::size_t taken = 0;
  const std::string all = pattern(4u << 20);
  ASSERT_TRUE(pair.stop_server());
  pair.server.got.clear();
  auto alive = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = alive;
  pair.client.stream->attach(std::move(alive));
  taken = *pair.client.stream->write_some(all);
  EXPECT_LT(taken, all.size());
  pair.client.stream.reset();
  loop.run_for(5ms);
  EXPECT_FALSE(watch.expired());  // still open
  pair.server.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));
  EXPECT_EQ(pair.server.error, "");
  EXPECT_EQ(pair.server.got, all.substr(0, taken));
  EXPECT_TRUE(watch.expired());
}

TEST(TlsStream, ALoopThatGoesTakesLeftoversWithIt) {
  Station station;
  std::weak_ptr<int> watch;
  {
    Loop loop;
    Pair pair(loop, station.server(), station.client());
    ASSERT_TRUE(pair.stop_server());
    auto alive = std::make_shared<int>(1);
    watch = alive;
    pair.client.stream->attach(std::move(alive));
    ASSERT_TRUE(pair.client.stream->write_some(pattern(4u << 20)));
    pair.client.stream.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(TlsStream, ASlowReaderGetsABoundedAmount) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  ASSERT_TRUE(pair.stop_server());
  loop.run_for(1ms);
  const std::size_t before = pair.server.got.size();
  const std::string all = pattern(8u << 20);
  pair.client.send(all);
  loop.run_for(20ms);
  // Two kernel buffers, one of ours on each side: far less than all.
  EXPECT_GT(pair.client.to_send.size(), all.size() - (2u << 20));
  EXPECT_LE(pair.server.got.size(), before + 64);
  pair.server.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.got.size() == before + all.size(); }));
  EXPECT_EQ(pair.server.got.substr(before), all);
  EXPECT_GT(pair.client.writable, 0);
}

TEST(TlsStream, PausesInTheMiddleOfARecord) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client(), {.server_space = 10});
  End& there = pair.server;
  End& here = pair.client;
  there.on_each = [&] { there.stream->pause(); };
  pair.resume();
  here.shut_when_sent = true;
  here.send(pattern(95));
  for (std::size_t n = 1; n <= 9; ++n) {
    ASSERT_TRUE(run_until(loop, [&] { return there.got.size() >= 10 * n; }));
    loop.run_for(1ms);
    EXPECT_EQ(there.got.size(), 10 * n);
    there.stream->resume();
    EXPECT_EQ(there.got.size(), 10 * n);  // never inside the call
  }
  ASSERT_TRUE(run_until(loop, [&] { return there.got.size() == 95; }));
  loop.run_for(1ms);
  EXPECT_FALSE(there.ended);
  there.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_EQ(there.got, pattern(95));
}

TEST(TlsStream, DrainsWhatIsThere) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client());
  ASSERT_TRUE(pair.stop_server());
  pair.client.send(pattern(5000));
  pair.server.stream->drain(100'000);
  ASSERT_TRUE(run_until(loop, [&] { return pair.server.ended; }));  // the other end is open
  EXPECT_EQ(pair.server.got, "x" + pattern(5000));
  EXPECT_EQ(pair.server.error, "");
  pair.client.stream->drain(10);
  pair.server.send(pattern(5000));
  ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  EXPECT_EQ(pair.client.got.size(), 10u);
}

TEST(TlsStream, MayBeDestroyedInEveryCallback) {
  Station station;
  const TlsContext server = station.server(), client = station.client();
  for (int which = 0; which < 3; ++which) {
    Loop loop;
    Pair pair(loop, server, client);
    pair.resume();
    bool gone = false;
    const auto go = [&] {
      pair.server.stream.reset();
      gone = true;
    };
    if (which == 0) pair.server.on_each = go;
    if (which == 1) pair.server.on_last = go;
    if (which == 2) {
      struct Writable : End {
        using End::End;
        void on_writable() override {
          stream.reset();
          done = true;
        }
        bool done = false;
      };
      Writable other(std::move(*pair.server.stream));
      pair.server.stream.reset();
      EXPECT_EQ(*other.stream->write_some("early"), 0u);  // the handshake is not done
      ASSERT_TRUE(run_until(loop, [&] { return other.done; }));
      continue;
    }
    pair.client.shut_when_sent = true;
    pair.client.send(pattern(50'000));
    ASSERT_TRUE(run_until(loop, [&] { return gone; }));
    ASSERT_TRUE(run_until(loop, [&] { return pair.client.ended; }));
  }
}

TEST(TlsStream, AnExceptionOfACallbackLosesNothing) {
  Station station;
  Loop loop;
  Pair pair(loop, station.server(), station.client(), {.server_space = 1000});
  End& there = pair.server;
  End& here = pair.client;
  pair.resume();
  int thrown = 0;
  there.on_each = [&] {
    ++thrown;
    throw std::runtime_error("a bug of the owner");
  };
  const std::string all = pattern(50'000);
  here.shut_when_sent = true;
  here.send(all);
  const Loop::Work work(loop);
  for (int i = 0; i < 100'000 && !there.ended; ++i) {
    try {
      loop.run_for(1ms);
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(there.got, all);
  EXPECT_GT(thrown, 10);
  EXPECT_EQ(there.error, "");
}

TEST(TlsStream, TheHandshakeIsLimitedInTimeAndBytes) {
  Station station;
  auto options = station.server_options();
  options.handshake_time = 20ms;
  Loop loop;
  Sockets pair = sockets();
  End there(server_end(loop, std::move(pair.near), *TlsContext::server(options)));
  there.stream->resume();
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("handshake was not done in time"));

  // Without reading, the one who waits to write learns it.
  Sockets second = sockets();
  End writer(server_end(loop, std::move(second.near), *TlsContext::server(options)));
  writer.send("x");
  ASSERT_TRUE(run_until(loop, [&] { return !writer.write_error.empty(); }));
  EXPECT_THAT(writer.write_error, HasSubstr("handshake was not done in time"));

  // A handshake that goes on and on: records of one byte each of a message that never ends.
  Sockets third = sockets();
  End slow(server_end(loop, std::move(third.near), station.server()));
  slow.stream->resume();
  std::string record("\x16\x03\x01\x40\x00", 5);
  std::string hello("\x01\x01\xff\xf0", 4);  // 131056 bytes, as OpenSSL allows
  record += hello + std::string(0x4000 - hello.size(), 'x');
  ASSERT_TRUE(run_until(loop, [&] {
    (void)::send(third.far.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return slow.ended;
  }));
  EXPECT_NE(slow.error, "");
}

TEST(TlsStream, AReadThatIsUnderWayIsRefusedAndNoCrash) {
  Station station;
  Loop loop;
  Sockets pair = sockets();
  End first(std::move(*Stream::open(loop, std::move(pair.near))));
  first.stream->resume();
  loop.poll();
  End there(std::move(*tls_accept(loop, std::move(*first.stream), station.server())));
  there.stream->resume();
  ASSERT_EQ(::send(pair.far.get(), "xx", 2, 0), 2);
  ASSERT_TRUE(run_until(loop, [&] { return there.ended; }));
  EXPECT_THAT(there.error, HasSubstr("being read"));
}

}  // namespace
}  // namespace godwit::inline v0
