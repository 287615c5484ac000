#include "godwit/http/response_parser.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "http/chunk_reader.hpp"
#include "http/message_reader.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

// Servers of old put Latin-1 into reasons and values. Nobody acts on those bytes, and a client
// cannot make its server better.
constexpr unsigned value_classes = value_char | obs_text_char;
constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

}  // namespace

struct ResponseParser::Impl {
  enum class State : std::uint8_t {
    start,
    fields,
    counted,
    chunked,
    until_close,
    ending,
    done,
    failed
  };

  explicit Impl(const Limits& limits)
      : in(limits, {"status line", 502, value_classes, 0}),
        chunks(unbounded, limits.http_trailer_bytes, value_classes),
        most_interim(limits.http_interim_answers) {}

  MessageReader in;
  ChunkReader chunks;
  State state = State::start;
  std::uint64_t left = 0;
  std::size_t most_interim;
  std::size_t interim = 0;  // answers 1xx to this request
  bool head_request = false;
  bool connect_request = false;
  bool http_1_0 = false;
  bool ended = false;  // by the other side
  bool reusable = false;

  std::optional<std::string> take_status_line(std::string_view line, int& status);
  std::optional<std::string> choose_body(int status);
};

ResponseParser::ResponseParser(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
ResponseParser::~ResponseParser() = default;
ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;
ResponseParser& ResponseParser::operator=(ResponseParser&&) noexcept = default;

void ResponseParser::begin(std::string_view method) {
  impl_->head_request = method == "HEAD";
  impl_->connect_request = method == "CONNECT";
  if (impl_->state == Impl::State::failed) return;
  fields_ = {};
  body_ = {};
  status_ = 0;
  impl_->reusable = false;
  impl_->interim = 0;
  impl_->in.drop();
  impl_->in.reset_facts();
  impl_->state = Impl::State::start;
}

std::span<char> ResponseParser::prepare() {
  fields_ = {};
  body_ = {};
  // Nobody may look at the head any more, once it was handed out.
  if (impl_->state != Impl::State::start && impl_->state != Impl::State::fields) impl_->in.drop();
  return impl_->in.prepare();
}

void ResponseParser::commit(std::size_t size) noexcept { impl_->in.commit(size); }

void ResponseParser::finish() { impl_->ended = true; }

ResponseParser::Event ResponseParser::next() {
  using State = Impl::State;
  fields_ = {};
  body_ = {};
  switch (impl_->state) {
    case State::start:
    case State::fields:
      return next_head();
    case State::counted:
    case State::chunked:
    case State::until_close:
      return next_body();
    case State::ending:
      impl_->state = State::done;
      return Event::end;
    case State::done:
      return Event::none;
    case State::failed:
      break;
  }
  return Event::failed;
}

ResponseParser::Event ResponseParser::next_head() {
  using State = Impl::State;
  MessageReader& in = impl_->in;
  for (;;) {
    if (impl_->state == State::start) {
      const auto step = in.read_start_line();
      if (step == MessageReader::Step::more) return more();
      if (step == MessageReader::Step::failed) return fail(in.refusal().why);
      if (auto why = impl_->take_status_line(in.start_line(), status_))
        return fail(std::move(*why));
      impl_->state = State::fields;
    }
    const auto step = in.read_fields();
    if (step == MessageReader::Step::more) return more();
    if (step == MessageReader::Step::failed) return fail(in.refusal().why);
    if (auto why = impl_->choose_body(status_)) return fail(std::move(*why));
    if (status_ >= 200 || status_ == 101) break;
    // "100 Continue" and its like: the answer is still to come.
    if (++impl_->interim > impl_->most_interim) {
      return fail("more than " + std::to_string(impl_->most_interim) +
                  " answers with a status of 1xx came before the one that counts "
                  "(Limits::http_interim_answers)");
    }
    in.drop();
    in.reset_facts();
    impl_->state = State::start;
  }
  fields_ = FieldsView(in.fields());
  return Event::head;
}

ResponseParser::Event ResponseParser::next_body() {
  using State = Impl::State;
  MessageReader& in = impl_->in;
  for (;;) {
    std::string_view unread = in.unread();
    if (unread.empty()) return more();
    if (impl_->state != State::chunked) {
      body_ = unread.substr(
          0, static_cast<std::size_t>(std::min<std::uint64_t>(impl_->left, unread.size())));
      in.skip(body_.size());
      if (impl_->state == State::counted) {
        impl_->left -= body_.size();
        if (impl_->left == 0) impl_->state = State::ending;
      }
      return Event::body;
    }
    const std::size_t before = unread.size();
    const auto step = impl_->chunks.next(unread, body_);
    in.skip(before - unread.size());
    if (step == ChunkReader::Step::data) return Event::body;
    if (step == ChunkReader::Step::failed) return fail(impl_->chunks.refusal().why);
    if (step == ChunkReader::Step::end) {
      impl_->state = State::done;
      return Event::end;
    }
  }
}

/// There are no more bytes, for now or for good.
ResponseParser::Event ResponseParser::more() {
  if (!impl_->ended) return Event::none;
  if (impl_->state == Impl::State::until_close) {
    impl_->state = Impl::State::done;
    return Event::end;
  }
  return fail(impl_->state == Impl::State::start && impl_->in.unread().empty()
                  ? "the connection ended before there was a response"
                  : "the connection ended in the middle of a response");
}

ResponseParser::Event ResponseParser::fail(std::string why) {
  fields_ = {};
  body_ = {};
  impl_->in.clear();
  impl_->reusable = false;
  impl_->state = Impl::State::failed;
  error_ = Error{.message = "Invalid HTTP response: " + std::move(why)};
  return Event::failed;
}

std::optional<std::string> ResponseParser::Impl::take_status_line(std::string_view line,
                                                                  int& status) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  http_1_0 = line.starts_with("HTTP/1.0 ");
  if ((!http_1_0 && !line.starts_with("HTTP/1.1 ")) || line.size() < 12 || line[9] < '1' ||
      !digit(line[9]) || !digit(line[10]) || !digit(line[11]) ||
      (line.size() > 12 && line[12] != ' ')) {
    return "the status line is " + shown(line) + "; expected was \"HTTP/1.1 200 OK\"";
  }
  const std::string_view reason = line.substr(std::min<std::size_t>(line.size(), 13));
  if (const std::size_t at = span_of(reason, value_classes); at < reason.size())
    return "the status line holds the byte " + byte_name(reason[at]);
  status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  return std::nullopt;
}

/// Where the body ends (RFC 9112 6.3).
std::optional<std::string> ResponseParser::Impl::choose_body(int status) {
  const MessageReader::Facts& facts = in.facts();
  if (auto why = in.framing_mistake(http_1_0)) return std::move(why->why);
  const bool switched = status == 101 || (connect_request && status / 100 == 2);
  const bool bodiless = status / 100 == 1 || status == 204 || switched;
  // "Content-Length: 0" beside these is common and harmless.
  if (bodiless && (facts.transfer || facts.length.value_or(0) > 0))
    return "a response " + std::to_string(status) + " has no body, but announces one";

  left = facts.length.value_or(0);
  if (bodiless || head_request || status == 304) {
    state = State::ending;
  } else if (facts.chunked) {
    chunks.reset();
    state = State::chunked;
  } else if (facts.length) {
    state = left > 0 ? State::counted : State::ending;
  } else {
    left = unbounded;
    state = State::until_close;
  }
  reusable = !http_1_0 && !facts.close && !switched && state != State::until_close;
  return std::nullopt;
}

bool ResponseParser::reusable() const noexcept {
  return impl_->reusable && impl_->state == Impl::State::done && !impl_->ended &&
         impl_->in.unread().empty();
}

std::string_view ResponseParser::rest() const noexcept {
  return impl_->state == Impl::State::done ? impl_->in.unread() : std::string_view();
}

}  // namespace godwit::inline v0::http
