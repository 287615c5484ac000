#include "connection.hpp"

#include <algorithm>
#include <charconv>

#include "godwit/base/rollback.hpp"
#include "godwit/http/response.hpp"

namespace godwit::inline v0::http {

namespace {

/// After the last word of a connection: closing at once while the client still sends would make the
/// system throw that word away.
constexpr Duration linger_time = std::chrono::seconds(2);
constexpr std::size_t linger_bytes = 1u << 20;
/// Requests sent ahead of their turn; more are not read before it.
constexpr std::size_t most_ahead = 64u << 10;
/// Pieces of a stream that wait for the end of what is being read; more are written at once.
constexpr std::size_t most_held_back = 256u << 10;
/// A request that takes more memory counts among the bodies of the process. Less is bounded by the
/// number of connections.
constexpr std::size_t uncounted_body = 80u << 10;
/// Memory of answers that is kept between requests, for as long as they come.
constexpr std::size_t kept_output = 64u << 10;

constexpr std::string_view text_type = "text/plain; charset=utf-8";

void append_number(std::string& out, std::size_t number, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace

Connection::Connection(ServerState& server, Stream stream)
    : server_(server),
      stream_(std::move(stream)),
      parser_(server.options.limits),
      out_(kept_output),
      body_bytes_(server.options.body_bytes),
      later_(server.loop, [this] {
        const Later what = std::exchange(what_later_, Later::nothing);
        if (what == Later::close) return close();
        survive([&] {
          if (!busy()) pump();
        });
      }) {
  stream_.set_handler(*this);
}

Connection::~Connection() { uncount_body(); }

template <class F>
void Connection::survive(F&& run) noexcept {
  try {
    run();
  } catch (...) {
    server_.options.log.caught("a connection is closed");
    close();
  }
}

void Connection::start() noexcept {
  set_phase(Phase::idle, server_.options.limits.http_header_time);
  survive([&] { stream_.resume(); });
}

void Connection::set_phase(Phase phase, Duration limit) {
  phase_ = phase;
  deadline_ = server_.now() + limit;
}

void Connection::refuse(int status, std::string_view why) noexcept {
  refused = true;
  phase_ = Phase::answering;
  keep_ = false;
  survive([&] {
    pumping_ = true;
    respond(status, text_type, std::string(why) + "\n", {});
    pumping_ = false;
    flush();
    stream_.resume();
  });
}

// Reading.

std::span<char> Connection::on_space() {
  static thread_local char discarded[4096];
  std::span<char> space;
  if (phase_ != Phase::lingering) {
    survive([&] {
      space = parser_.prepare();
      count_body();
    });
  }
  return space.empty() ? discarded : space;
}

void Connection::on_data(std::size_t size) {
  survive([&] { take(size); });
}

void Connection::take(std::size_t size) {
  if (phase_ == Phase::closed) return;
  touched_ = true;
  if (phase_ == Phase::lingering) {
    if (std::exchange(refused_body_, false)) parser_ = RequestParser(server_.options.limits);
    discarded_ += size;
    if (discarded_ > linger_bytes) close();
    return;
  }
  parser_.commit(size);
  if (phase_ == Phase::admitting) return;
  if (counted_ > 0 && !busy()) {
    server_.make_room_for_bodies();
    if (phase_ == Phase::lingering || phase_ == Phase::closed) return;  // this one gave way
  }
  if (!busy()) return pump();
  hold_back();
}

void Connection::count_body() {
  const std::size_t capacity = parser_.capacity();
  if (capacity <= uncounted_body) return uncount_body();
  if (counted_ == 0) large_ = server_.large.insert(server_.large.end(), this);
  // May wrap around, and back.
  body_bytes_->fetch_add(capacity - counted_, std::memory_order_relaxed);
  counted_ = capacity;
}

void Connection::uncount_body() noexcept {
  if (counted_ == 0) return;
  body_bytes_->fetch_sub(std::exchange(counted_, 0), std::memory_order_relaxed);
  server_.large.erase(large_);
}

void Connection::refuse_body() noexcept {
  if (busy()) return;  // a handler has it, and what comes behind it is not much
  uncount_body();
  refused_body_ = true;  // later, since its memory may be what is just being read into
  if (phase_ == Phase::lingering) return;
  undecided_.reset();
  phase_ = Phase::answering;
  keep_ = false;
  head_only_ = false;
  survive([&] {
    respond(503, text_type, "too many large requests are being sent; try again later\n",
            {{"Retry-After", "1"}});
    hold_back();
  });
}

void Connection::pump(bool decided) {
  if (pumping_ || phase_ == Phase::closed || phase_ == Phase::admitting) return;
  pumping_ = true;
  Rollback leave([&] { pumping_ = false; });
  const Limits& limits = server_.options.limits;
  bool ahead = false;
  using Event = RequestParser::Event;
  while (phase_ == Phase::idle || phase_ == Phase::reading) {
    Event event = body_ ? Event::head : Event::request;  // which waited
    if (!std::exchange(decided, false)) {
      if (!has_room()) break;
      event = parser_.next();
    }
    if (event == Event::none) {
      if (parser_.partial()) {
        if (phase_ == Phase::idle) {
          request_deadline_ = server_.now() + limits.http_request_time;
          set_phase(Phase::reading, limits.http_header_time);
        } else if (phase_ == Phase::reading && body_) {
          deadline_ = server_.now() + limits.http_body_idle;
        }
      }
      break;
    }
    if (event == Event::failed) {
      failed();
      break;
    }
    if (event == Event::head) {
      body_ = true;
      if (phase_ == Phase::idle) request_deadline_ = server_.now() + limits.http_request_time;
      set_phase(Phase::reading, limits.http_body_idle);
      if (!asked_ && !ask()) break;
      asked_ = true;
      if (parser_.expects_continue()) {
        out_.text() += "HTTP/1.1 100 Continue\r\n\r\n";
        out_.finish_message();
        flush();
      }
      continue;
    }
    body_ = false;
    if (std::exchange(asked_, false) || ask()) serve();
    // One request a turn: others must not wait for all that one client sent in advance. The answers
    // still go together.
    ahead = !busy() && phase_ == Phase::idle && !parser_.rest().empty();
    if (ahead) {
      later(Later::pump);
      break;
    }
  }
  if (counted_ > 0 && phase_ != Phase::admitting && (busy() || !parser_.partial())) {
    parser_.prepare();  // nobody looks at the body any more: gives its memory back
    count_body();
  }
  leave.dismiss();
  pumping_ = false;
  if (!ahead) flush();
  if (end_seen_ && !ahead) return end_after_answers();
  hold_back();
  tell_drained();
}

void Connection::tell_drained() {
  if (phase_ == Phase::streaming && owner_ && unsent() == 0 && !broken_) owner_->on_drained();
}

/// False if the client should first read what it asked for.
bool Connection::has_room() {
  const std::size_t most = server_.options.limits.output_queue_bytes;
  if (unsent() > most) flush_now();
  return unsent() <= most;
}

bool Connection::waits_for_room() const noexcept {
  return blocked_ && phase_ == Phase::idle && !parser_.rest().empty() &&
         unsent() > server_.options.limits.output_queue_bytes;
}

/// Also while requests are being read, when answers wait for each other.
void Connection::flush_now() {
  const bool pumping = std::exchange(pumping_, false);
  flush();
  pumping_ = pumping;
}

/// Reads on, unless more was sent ahead than is worth keeping, or a decision is awaited.
void Connection::hold_back() {
  if (phase_ == Phase::closed || phase_ == Phase::admitting) return;
  const bool hold = phase_ != Phase::lingering && parser_.rest().size() > most_ahead;
  if (hold == paused_) return;
  paused_ = hold;
  hold ? stream_.pause() : stream_.resume();
}

/// The request with what only the connection knows.
Request Connection::request() {
  if (peer_.empty()) {
    peer_ = stream_.peer();
    local_ = stream_.local();
  }
  Request request = parser_.request();
  request.peer = peer_;
  request.local = local_;
  request.secure = stream_.secure();
  if (request.secure) request.certificate = stream_.certificate();
  request.access_checked = access_checked_;
  request.admitted = has_admitted_ ? &admitted_ : nullptr;
  return request;
}

bool Connection::ask() {
  phase_ = Phase::reading;
  access_checked_ = has_admitted_ = false;
  Decision decision;
  guarded([&] { server_.handler.on_head(request(), decision); });
  if (phase_ != Phase::reading) return false;  // it threw, or the server was destroyed
  access_checked_ = decision.access_checked();
  PendingDecision pending = decision.pending();
  if (!pending) return apply(std::move(decision.outcome()));
  wait_for(std::move(pending));
  return false;
}

void Connection::wait_for(PendingDecision pending) {
  auto undecided = std::make_unique<Undecided>(server_.loop, [this] { decided(); });
  undecided->pending = std::move(pending);
  Wakeup& wake = undecided->wake;
  if (!undecided->pending.wait([&wake] { wake.signal(); })) wake.signal();
  undecided_ = std::move(undecided);
  set_phase(Phase::admitting, server_.options.limits.admission_time);
  if (std::exchange(paused_, true)) return;
  stream_.pause();
}

void Connection::decided() {
  if (phase_ != Phase::admitting) return;
  survive([&] {
    Outcome outcome = undecided_->pending.take();
    undecided_.reset();
    phase_ = Phase::reading;
    if (apply(std::move(outcome))) {
      // The time that it took is not the client's.
      if (body_) set_phase(Phase::reading, server_.options.limits.http_body_idle);
      asked_ = true;
      pump(true);
    }
    hold_back();
  });
}

bool Connection::apply(Outcome&& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::passed:
      return true;
    case Outcome::Kind::admitted:
      admitted_ = std::move(outcome.admitted);
      has_admitted_ = true;
      return true;
    case Outcome::Kind::refused:
      refuse_request(outcome.refusal);
      return false;
    default:
      server_.options.log.limited(LogLevel::error,
                                  "an HTTP handler said nothing about the head of a request");
      refuse_request({.status = 500, .fields = {}, .body = "internal error\n"});
      return false;
  }
}

/// The connection can go on after it only if nothing is left of the request.
void Connection::refuse_request(const Response& response) {
  phase_ = Phase::answering;
  keep_ = !std::exchange(body_, false) && parser_.keep_alive() && !server_.draining;
  head_only_ = parser_.request().method == "HEAD";  // not that of the request before
  chunked_ = parser_.takes_chunks();
  answer(response);
}

/// Runs code of the program: what it throws is answered with 500, if it has not answered, and goes
/// no further.
template <class F>
void Connection::guarded(F&& run) {
  try {
    return run();
  } catch (...) {
    server_.options.log.caught("an HTTP handler threw");
  }
  if (phase_ == Phase::streaming) return abort();
  if (phase_ != Phase::answering && phase_ != Phase::reading) return;
  phase_ = Phase::answering;
  keep_ = false;
  head_only_ = false;
  respond(500, text_type, "internal error\n", {});
}

void Connection::failed() {
  phase_ = Phase::answering;
  keep_ = false;
  head_only_ = false;
  respond(parser_.status(), text_type, parser_.error().message + "\n", {});
}

void Connection::serve() {
  keep_ = parser_.keep_alive() && !server_.draining;
  const Request& parsed = parser_.request();
  head_only_ = parsed.method == "HEAD";
  chunked_ = parser_.takes_chunks();
  owner_ = nullptr;
  phase_ = Phase::answering;
  // Only what this server may know is an upgrade; other wishes of that kind are left alone.
  if (parser_.wants_upgrade() && parsed.fields.lists("Upgrade", "websocket")) {
    return guarded([&] { upgrade(); });
  }
  if (has_admitted_) answer_fields_ = std::exchange(admitted_.fields, {});
  guarded([&] { server_.handler.on_request(request(), *this); });
}

void Connection::upgrade() {
  // Answers to requests before this one go first. Clients wait for them before they upgrade.
  flush_now();
  if (unsent() > 0 || broken_) {
    keep_ = false;
    return respond(503, text_type, "earlier answers have not been read yet\n", {});
  }
  std::optional<Response> refusal;
  try {
    refusal = server_.handler.on_upgrade(request(), stream_, parser_.rest());
  } catch (...) {
    if (stream_) throw;
    server_.options.log.caught("an HTTP handler threw after it took a stream");
  }
  if (phase_ == Phase::closed) return;  // the server was destroyed meanwhile
  if (stream_ && refusal) {
    if (has_admitted_) answer_fields_ = std::exchange(admitted_.fields, {});
    return answer(*refusal);
  }
  phase_ = Phase::closed;  // the stream is somebody else's now
  server_.remove(*this);
}

// Answering.

void Connection::write_head(int status, std::string_view type, std::size_t length, bool whole,
                            const Fields& more) {
  std::string& out = out_.text();
  if (status == 200) {
    out += server_.ok_and_date();
  } else {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::size_t>(status));
    out += ' ';
    out += reason_of(status);
    out += "\r\n";
    out += server_.date();
  }
  if (!type.empty()) {
    out += "Content-Type: ";
    out += type;
    out += "\r\n";
  }
  if (!more.empty()) more.write(out);
  if (!answer_fields_.empty()) answer_fields_.write(out);
  if (!keep_) {
    out += "Connection: close\r\n";
  } else if (!chunked_) {
    out += "Connection: keep-alive\r\n";  // HTTP/1.0 must be told
  }
  if (whole) {
    if (status != 204 && status != 304) {
      out += "Content-Length: ";
      append_number(out, length);
      out += "\r\n";
    }
  } else if (chunked_) {
    out += "Transfer-Encoding: chunked\r\n";
  }
  out += "\r\n";
}

void Connection::respond(int status, std::string_view type, std::string_view body,
                         const Fields& more) {
  if (phase_ != Phase::answering) return;
  Rollback undo([&] { out_.undo_message(); });
  write_head(status, type, body.size(), true, more);
  if (!head_only_ && status != 204 && status != 304) out_.text() += body;
  undo.dismiss();
  out_.finish_message();
  answered();
}

void Connection::begin(int status, std::string_view type, const Fields& more) {
  if (phase_ != Phase::answering) return;
  if (!chunked_) keep_ = false;  // the end of the connection is the end of the answer
  Rollback undo([&] { out_.undo_message(); });
  write_head(status, type, 0, false, more);
  undo.dismiss();
  out_.finish_message();
  phase_ = Phase::streaming;
  flush();
}

void Connection::write(std::string_view piece) {
  if (phase_ != Phase::streaming || piece.empty() || head_only_) return;
  Rollback undo([&] { out_.undo_message(); });
  std::string& out = out_.text();
  if (chunked_) {
    append_number(out, piece.size(), 16);
    out += "\r\n";
    out += piece;
    out += "\r\n";
  } else {
    out += piece;
  }
  undo.dismiss();
  out_.finish_message();
  if (unsent() > std::min(most_held_back, server_.options.limits.output_queue_bytes)) {
    flush_now();
  } else {
    flush();
  }
}

void Connection::end() {
  if (phase_ != Phase::streaming) return;
  if (chunked_ && !head_only_) out_.text() += "0\r\n\r\n";
  out_.finish_message();
  answered();
}

void Connection::abort() {
  if (phase_ == Phase::closed) return;
  owner_ = nullptr;
  close();
}

void Connection::answered() {
  owner_ = nullptr;
  if (!answer_fields_.empty()) answer_fields_ = {};
  set_phase(Phase::idle, server_.options.limits.http_keep_alive);
  if (!keep_) phase_ = Phase::lingering;
  if (pumping_) return;  // which goes on with the next request and writes all answers at once
  flush();
  if (phase_ != Phase::idle) return;
  if (std::exchange(paused_, false)) stream_.resume();
  if (parser_.rest().empty()) return;
  later(Later::pump);  // not from inside the call that answered
}

// Writing.

void Connection::flush() {
  if (blocked_ || broken_ || phase_ == Phase::closed || pumping_) return;
  if (unsent() > 0) {
    if (!out_.write(stream_)) {
      // Whoever is answering may be in the middle of a call: it is told later.
      out_.drop();
      broken_ = true;
      later(Later::close);
      return;
    }
    touched_ = true;
    if (unsent() > 0) {
      blocked_ = true;
      write_deadline_ = server_.now() + server_.options.limits.write_stall;
      return;
    }
  }
  if (phase_ != Phase::lingering || said_last_) return;
  said_last_ = true;
  deadline_ = server_.now() + linger_time;
  stream_.shutdown_write();
  if (end_seen_) later(Later::close);
}

void Connection::on_writable() {
  survive([&] {
    blocked_ = false;
    flush();
    if (blocked_ || broken_ || phase_ == Phase::closed) return;
    if (busy()) return tell_drained();
    if (phase_ == Phase::admitting) return;
    if (std::exchange(paused_, false)) stream_.resume();
    pump();
  });
}

// The end.

void Connection::on_end(const Result<void>& how) {
  end_seen_ = true;
  if (how && !busy() && what_later_ == Later::pump) return;  // which answers what was sent ahead
  end_after_answers();
}

/// The client has said all. What it asked for is still written, but nobody waits for a handler.
void Connection::end_after_answers() noexcept {
  if (phase_ == Phase::closed) return;
  if (busy() || phase_ == Phase::admitting || unsent() == 0) return close();
  if (waits_for_room()) return;  // there is more to answer, once the client has read
  phase_ = Phase::lingering;
  keep_ = false;
}

void Connection::later(Later what) noexcept {
  what_later_ = std::max(what_later_, what);
  later_.signal();
}

/// Needs no memory.
void Connection::close() noexcept {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  undecided_.reset();
  if (stream_) stream_.close();
  Owner* const owner = std::exchange(owner_, nullptr);
  ServerState& server = server_;
  server.remove(*this);
  if (!owner) return;
  try {
    owner->on_gone();
  } catch (...) {
    server.options.log.caught("an HTTP handler threw when its client went away");
  }
}

void Connection::drain() {
  keep_ = false;
  if (phase_ == Phase::idle && unsent() > 0 && parser_.rest().empty()) phase_ = Phase::lingering;
}

bool Connection::close_if_idle() {
  if (phase_ != Phase::idle || unsent() > 0 || !parser_.rest().empty()) return false;
  close();
  return true;
}

void Connection::tick(TimePoint now) noexcept {
  survive([&] { check_time(now); });
}

void Connection::check_time(TimePoint now) {
  if (blocked_ && now >= write_deadline_) return close();
  switch (phase_) {
    case Phase::reading:
      if (now >= deadline_ || now >= request_deadline_) {
        phase_ = Phase::answering;
        keep_ = false;
        head_only_ = false;
        respond(408, text_type, "the request did not arrive in time\n", {});
      }
      break;
    case Phase::admitting:
      if (now < deadline_) break;
      undecided_.reset();
      phase_ = Phase::reading;
      server_.options.log.limited(LogLevel::warning,
                                  "nobody decided in time whether a request may be let in");
      refuse_request({.status = 503,
                      .fields = {{"Content-Type", text_type}, {"Retry-After", "1"}},
                      .body = "it was not decided in time who is calling; try again later\n"});
      hold_back();
      break;
    case Phase::idle:
      if (unsent() > 0) break;  // which has a time of its own
      if (now >= deadline_) return close();
      if (!std::exchange(touched_, false) && !parser_.partial() && stream_.rest()) {
        parser_.release();
        out_.release();
      }
      break;
    case Phase::lingering:
      if (said_last_ && now >= deadline_) return close();
      break;
    default:
      break;
  }
}

}  // namespace godwit::inline v0::http
