#include "godwit/transport/websocket.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/transport/request_facts.hpp"
#include "websocket_handshake.hpp"

namespace godwit::inline v0 {

namespace {

using Event = WebSocketDecoder::Event;

/// What is still read from a peer that takes nothing any more.
constexpr std::size_t last_words = 1u << 20;

std::string goodbye(std::uint16_t code, std::string_view words) {
  std::string text = "the other side closed the connection";
  if (code == close_code::none) return text;
  text += " (" + std::to_string(code);
  if (!words.empty()) text.append(": ").append(words);
  return text + ")";
}

}  // namespace

WebSocketTransport::WebSocketTransport(Loop& loop, Stream stream, WebSocketSide side,
                                       std::string_view rest, const WebSocketOptions& options,
                                       std::string protocol)
    : limits_(options.limits),
      clock_(options.clock),
      room_(options.room),
      decoder_(side, options.limits),
      stream_(std::move(stream)),
      silence_(loop),
      patience_(loop),
      protocol_(std::move(protocol)),
      side_(side),
      settled_(loop, [this] { after_settling(); }),
      held_back_(loop, [this] { survive([&] { pump(); }); }) {
  stream_.set_handler(*this);
  while (!rest.empty()) {
    const std::span<char> space = decoder_.prepare();
    const std::size_t size = std::min(space.size(), rest.size());
    std::memcpy(space.data(), rest.data(), size);
    decoder_.commit(size);
    rest.remove_prefix(size);
  }
}

WebSocketTransport::~WebSocketTransport() = default;

Result<std::unique_ptr<WebSocketTransport>> WebSocketTransport::accept(
    Loop& loop, Stream stream, const http::Request& request, std::string_view rest,
    const WebSocketOptions& options) {
  if (const auto why = refusal(request)) return error("no WebSocket handshake: " + why->body);
  std::string protocol = detail::transport::chosen_protocol(request, options.protocols);
  const std::string answer = detail::transport::handshake_answer(request, protocol);
  auto transport = std::make_unique<WebSocketTransport>(
      loop, std::move(stream), WebSocketSide::server, rest, options, std::move(protocol));
  transport->handshake_ = rpc::keep(facts_of(request));
  transport->out_.text() = answer;
  transport->out_.finish_message();
  transport->write_out();
  return transport;
}

std::shared_ptr<const rpc::Facts> WebSocketTransport::facts() const {
  if (handshake_) return handshake_;
  const std::string peer = stream_.peer();
  const std::string local = stream_.local();
  return rpc::keep({.peer = peer,
                    .local = local,
                    .secure = stream_.secure(),
                    .certificate = stream_.certificate()});
}

void WebSocketTransport::start(rpc::Receiver& receiver) {
  receiver_ = &receiver;
  if (phase_ != Phase::idle) return;
  phase_ = Phase::open;
  heard_ = clock_->coarse();
  watch_silence(limits_.ws_ping_time);
  if (decoder_.partial()) held_back_.signal();
  if (!paused_) stream_.resume();
}

// --- input

template <class F>
void WebSocketTransport::survive(F&& run) noexcept {
  const Lifetime::Watch watch(lifetime_);
  try {
    run();
  } catch (...) {
    if (watch.expired()) return;
    drop_output();
    silence_.cancel();
    reason_.message = "out of memory";  // short enough to need none
    if (phase_ != Phase::closed) phase_ = Phase::closing;
    settle();
  }
}

std::span<char> WebSocketTransport::on_space() {
  static thread_local char discarded[4096];
  std::span<char> space;
  survive([&] { space = decoder_.prepare(); });
  discarding_ = space.empty();
  return discarding_ ? discarded : space;
}

void WebSocketTransport::on_data(std::size_t size) {
  if (std::exchange(discarding_, false)) return;
  survive([&] {
    decoder_.commit(size);
    heard_ = clock_->coarse();
    pinged_ = false;
    pump();
  });
}

void WebSocketTransport::pump() {
  if (in_burst_) return;  // a handler that runs the loop inside itself
  const Lifetime::Watch watch(lifetime_);
  in_burst_ = true;
  const Rollback leave([&] {
    if (!watch.expired()) in_burst_ = false;
  });
  while (!(paused_ && phase_ == Phase::open)) {  // if paused, the rest waits in the decoder
    const Event event = decoder_.next();
    if (event == Event::none) break;
    handle(event);
    if (watch.expired()) return;
  }
  in_burst_ = false;
  write_out();
  if (phase_ == Phase::closing && !end_seen_) stream_.resume();
  if (end_seen_ && !paused_ && phase_ == Phase::open) {
    phase_ = Phase::ended;
    silence_.cancel();
    if (unsent() > 0) {
      patience_.start(limits_.eof_grace, [this] {
        drop_output();
        settle();
      });
    }
  }
  settle();
  if (room_ && (decoder_.partial() || holds_room())) count_input();
}

/// Afterwards this may be gone.
void WebSocketTransport::count_input() noexcept {
  const std::shared_ptr<InputRoom> room = room_;
  const bool unfinished = phase_ == Phase::open && decoder_.partial();
  room->hold(*this, unfinished ? decoder_.capacity() : 0);
}

void WebSocketTransport::give_way() noexcept {
  survive([&] {
    if (phase_ != Phase::open) return;
    failed_ = true;
    start_closing(error("busy: too many bytes of unfinished messages have come; this one began "
                        "first and is given up, with its connection"),
                  close_code::try_again_later, "too many unfinished messages");
  });
}

void WebSocketTransport::handle(Event event) {
  const bool open = phase_ == Phase::open;
  switch (event) {
    case Event::none:
      break;
    case Event::message:
      // After close() whatever comes is thrown away.
      if (open) receiver_->on_message(decoder_.message(), decoder_.spare());
      break;
    case Event::ping:
    case Event::pong:
      if (!open) break;
      if (too_many_control_frames()) {
        failed_ = true;
        start_closing(
            error("the other side sent more than " + std::to_string(limits_.ws_control_frames) +
                  " control frames in a second; the connection is closed"),
            close_code::policy, "too many control frames");
      } else if (event == Event::ping) {
        send_control(WebSocketOpcode::pong, decoder_.payload());
      }
      break;
    case Event::close: {
      close_received_ = true;
      if (!open) break;
      const std::uint16_t code = decoder_.code();
      start_closing(error(goodbye(code, decoder_.payload())), code, {});
      break;
    }
    case Event::failed:
      failed_ = true;
      if (!open) break;
      start_closing(
          error("the other side broke the WebSocket protocol (" + std::to_string(decoder_.code()) +
                "): " + std::string(decoder_.payload())),
          decoder_.code(), decoder_.payload());
      break;
  }
}

bool WebSocketTransport::too_many_control_frames() {
  if (heard_ - window_ >= std::chrono::seconds(1)) {
    window_ = heard_;
    control_frames_ = 0;
  }
  return ++control_frames_ > limits_.ws_control_frames;
}

void WebSocketTransport::on_end(const Result<void>& how) {
  survive([&] { ended(how); });
}

void WebSocketTransport::ended(const Result<void>& how) {
  if (phase_ == Phase::closed || phase_ == Phase::ended) return;
  end_seen_ = true;
  if (phase_ == Phase::closing) return settle();
  if (!write_failed_) {  // else that is the reason
    reason_ = !how ? how.error()
              : decoder_.partial()
                  ? error("the other side closed the connection inside a message")
                  : error("the other side closed the connection without a goodbye");
  }
  if (!paused_) pump();
}

/// A ping after a while without a byte, and the end after another.
void WebSocketTransport::watch_silence(Duration wait) {
  silence_.start(wait, [this] { survive([&] { check_silence(); }); });
}

void WebSocketTransport::check_silence() {
  if (phase_ != Phase::open) return;
  const Duration quiet = clock_->now() - heard_;
  if (pinged_ && quiet >= 2 * limits_.ws_ping_time) {
    return break_off(
        error("the other side has not said a word for " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(quiet).count()) +
              " seconds, not even to a ping"));
  }
  if (!pinged_ && quiet >= limits_.ws_ping_time) {
    pinged_ = true;
    send_control(WebSocketOpcode::ping, {});
    write_out();
    if (phase_ != Phase::open) return;
  }
  const Duration until = (pinged_ ? 2 : 1) * limits_.ws_ping_time - quiet;
  watch_silence(std::max<Duration>(until, std::chrono::milliseconds(1)));
}

// --- output

std::optional<std::uint32_t> WebSocketTransport::mask() const {
  if (side_ == WebSocketSide::server) return std::nullopt;
  return random_bits();  // RFC 6455 10.3: not to be guessed
}

void WebSocketTransport::frame(std::size_t begin, WebSocketOpcode opcode) {
  finish_websocket_frame(out_.text(), begin, opcode, mask());
  out_.finish_message();
}

void WebSocketTransport::finish(const rpc::Outbound& message) {
  const std::size_t begin = message.begin;
  if (write_failed_ || close_sent_) {
    out_.text().resize(begin);
    return;
  }
  const std::size_t waiting = unsent();
  Rollback undo([&] { out_.text().resize(begin); });
  frame(begin, WebSocketOpcode::text);
  undo.dismiss();
  if (!control_.empty()) {
    out_.text() += std::exchange(control_, {});
    out_.finish_message();
  }
  survive([&] { write_soon(waiting); });
}

/// `waiting` bytes were not written before this message: a single large answer is no fault of the
/// peer.
void WebSocketTransport::write_soon(std::size_t waiting) {
  if (blocked_ && waiting > 4 * limits_.output_queue_bytes) {
    return break_off(error("the other side does not read: " + std::to_string(waiting) +
                           " bytes are waiting for it; the connection is closed"));
  }
  if (!in_burst_ || unsent() > std::min(OutputBuffer::early_write, limits_.output_queue_bytes))
    write_out();
}

/// Control frames go between messages; written with the next write_out().
void WebSocketTransport::send_control(WebSocketOpcode opcode, std::string_view payload) {
  if (write_failed_ || close_sent_) return;
  if (!out_.composing()) {
    out_.text() += payload;
    return frame(out_.ready(), opcode);
  }
  // A message is just being appended: its writer counts from the start.
  const std::size_t begin = control_.size();
  control_ += payload;
  finish_websocket_frame(control_, begin, opcode, mask());
}

void WebSocketTransport::say_close(std::uint16_t code, std::string_view words) {
  std::string payload;
  if (code != close_code::none) {
    payload.push_back(static_cast<char>(code >> 8));
    payload.push_back(static_cast<char>(code & 0xff));
    payload += words;
  }
  send_control(WebSocketOpcode::close, payload);
  close_sent_ = true;
}

void WebSocketTransport::flush() { write_out(); }

bool WebSocketTransport::refuse(const Error& why) {
  if (side_ == WebSocketSide::server) return false;
  if (phase_ != Phase::open) return true;
  failed_ = true;
  start_closing(error("the server sent text that is no JSON: " + why.message),
                close_code::invalid_text, "the text is no JSON");
  return true;
}

void WebSocketTransport::write_out() {
  if (!blocked_) {
    if (Result<void> put = out_.write(stream_); !put) return broken(std::move(put).error());
    blocked_ = unsent() > 0;
    if (blocked_) watch_stall();
  }
  if (!paused_ && unsent() > limits_.output_queue_bytes) {
    paused_ = true;
    if (phase_ == Phase::open) stream_.pause();
  }
}

void WebSocketTransport::watch_stall() {
  if (phase_ != Phase::idle && phase_ != Phase::open) return;
  patience_.start(limits_.write_stall, [this] { survive([&] { check_stall(); }); });
}

void WebSocketTransport::check_stall() {
  if (phase_ != Phase::open) return;
  const std::size_t waiting = unsent();
  blocked_ = false;
  write_out();  // on_writable() comes only when there is much room
  if (phase_ != Phase::open || unsent() < waiting) return;
  break_off(error("the other side does not read: it took none of the " + std::to_string(waiting) +
                  " bytes that are waiting for it in time; the connection is closed"));
}

void WebSocketTransport::on_writable() {
  survive([&] { written(); });
}

void WebSocketTransport::written() {
  blocked_ = false;
  heard_ = clock_->coarse();  // whoever reads is alive
  pinged_ = false;
  write_out();
  if (!blocked_ && phase_ == Phase::open) patience_.cancel();
  if (phase_ == Phase::ended && unsent() > 0) {
    patience_.start(limits_.eof_grace, [this] {
      drop_output();
      settle();
    });
  }
  if (paused_ && unsent() <= limits_.output_queue_bytes / 2) {
    paused_ = false;
    if (phase_ == Phase::open) {
      const Lifetime::Watch watch(lifetime_);
      pump();
      if (watch.expired()) return;
      if (phase_ == Phase::open && !paused_) stream_.resume();
    }
  }
  settle();
}

void WebSocketTransport::drop_output() noexcept {
  write_failed_ = true;
  control_.clear();
  out_.drop();
}

/// Nothing can be written any more. What the other side said before it went is still delivered.
void WebSocketTransport::broken(Error reason) {
  drop_output();
  if (phase_ != Phase::open) return settle();
  reason_ = std::move(reason);
  paused_ = false;
  if (!end_seen_) return stream_.drain(last_words);
  held_back_.signal();
}

// --- the end

void WebSocketTransport::close() {
  switch (phase_) {
    case Phase::idle:
    case Phase::open:
      start_closing(error("the connection was closed here"), close_code::normal, {});
      break;
    case Phase::ended:
    case Phase::closing:
      break;
    case Phase::closed:
      if (shut_) break;
      say_close(close_code::normal, {});
      write_out();
      if (unsent() == 0) stream_.shutdown_write();
      break;
  }
}

void WebSocketTransport::start_closing(Error reason, std::uint16_t code, std::string_view words) {
  reason_ = std::move(reason);
  phase_ = Phase::closing;
  silence_.cancel();
  say_close(code, words);
  patience_.start(limits_.ws_close_time, [this] {
    drop_output();
    settle();
  });
  if (in_burst_) return;  // pump() goes on with it; until then a message may still be looked at
  write_out();
  // The goodbye of the other side is to be read, or at least its end: closing with bytes unread
  // would make the system throw away what was written last.
  if (!end_seen_) stream_.resume();
  settle();
}

/// The end without a goodbye, since it would not arrive.
void WebSocketTransport::break_off(Error reason) {
  reason_ = std::move(reason);
  phase_ = Phase::closing;
  silence_.cancel();
  drop_output();
  settle();
}

/// Whether nothing more is to be written or waited for.
bool WebSocketTransport::over() const noexcept {
  if (phase_ == Phase::ended) return unsent() == 0;
  if (phase_ != Phase::closing) return false;
  if (write_failed_) return true;
  if (unsent() > 0) return false;
  // The server is the one that ends the connection below (RFC 6455 7.1.1).
  return end_seen_ || (close_received_ && side_ == WebSocketSide::server);
}

/// Goes on with the end. From the loop, never inside a call.
void WebSocketTransport::settle() noexcept {
  if (phase_ == Phase::closing && failed_ && unsent() == 0 && !write_failed_ && !shut_) {
    shut_ = true;
    stream_.shutdown_write();
  }
  if (!over() && !(when_flushed_ && unsent() == 0)) return;
  if (over()) patience_.cancel();
  settled_.signal();
}

void WebSocketTransport::after_settling() {
  const Lifetime::Watch watch(lifetime_);
  if (when_flushed_ && unsent() == 0) {
    std::exchange(when_flushed_, nullptr)();
    if (watch.expired()) return;
  }
  if (!over()) return;
  if (std::exchange(phase_, Phase::closed) == Phase::closing || write_failed_) {
    drop_output();
    shut_ = true;
    stream_.close();
  }
  if (receiver_) receiver_->on_close(std::exchange(reason_, {}));
}

void WebSocketTransport::when_flushed(Function<void()> done) {
  when_flushed_ = std::move(done);
  settle();
}

}  // namespace godwit::inline v0
