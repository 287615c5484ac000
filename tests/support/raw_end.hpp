// The other end of a connection as a test plays it: bytes, written and gathered.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/io/stream.hpp"

namespace godwit::test {

struct RawEnd : Stream::Handler {
  explicit RawEnd(Stream given) : stream(std::move(given)) {
    stream->set_handler(*this);
    stream->resume();
  }

  std::span<char> on_space() override { return buffer; }
  void on_data(std::size_t size) override { got.append(buffer, size); }
  void on_end(const Result<void>&) override { ended = true; }
  void on_writable() override { write(); }

  void say(std::string_view bytes) {
    to_send += bytes;
    write();
  }
  void write() {
    if (!stream || to_send.empty()) return;
    auto put = stream->write_some(to_send);
    if (put) to_send.erase(0, *put);
  }

  std::optional<Stream> stream;
  char buffer[5000];
  std::string got, to_send;
  bool ended = false;
};

}  // namespace godwit::test
