#include "godwit/http/request_parser.hpp"

#include <optional>
#include <utility>

#include "http/chunk_reader.hpp"
#include "http/message_reader.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

static_assert(RequestParser::padding == MessageReader::padding);

struct RequestParser::Impl {
  enum class State : std::uint8_t { start, fields, counted, chunked, done, failed };
  enum class Version : std::uint8_t { http_1_0, http_1_1 };

  // Bytes of 0x80 and above have no meaning in a value that all agree on, and no protocol served
  // here needs them.
  explicit Impl(const Limits& limits)
      : in(limits, {"request line", 414, value_char, limits.message_bytes_in}),
        chunks(limits.message_bytes_in, limits.http_trailer_bytes, value_char),
        most_body(limits.message_bytes_in) {}

  MessageReader in;
  ChunkReader chunks;
  std::uint64_t most_body;
  State state = State::start;
  Version version = Version::http_1_1;
  bool blank_seen = false;
  bool head_told = false;
  std::size_t method_size = 0;
  std::size_t target_size = 0;

  std::optional<Refusal> take_request_line(std::string_view line);
  std::optional<Refusal> check_first_byte() const;
  std::optional<Refusal> check_head() const;
  std::optional<Refusal> check_target(std::string_view method, std::string_view target) const;
};

RequestParser::RequestParser(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

std::span<char> RequestParser::prepare() {
  request_ = {};
  if (impl_->state == Impl::State::done) impl_->in.drop();
  return impl_->in.prepare();
}

void RequestParser::commit(std::size_t size) noexcept { impl_->in.commit(size); }

RequestParser::Event RequestParser::next() {
  using State = Impl::State;
  MessageReader& in = impl_->in;
  if (impl_->state == State::failed) return Event::failed;
  if (impl_->state == State::done) {
    request_ = {};
    in.drop();
    in.reset_facts();
    impl_->blank_seen = impl_->head_told = false;
    impl_->state = State::start;
  }

  if (impl_->state == State::start) {
    for (;;) {
      if (in.unread().empty()) return Event::none;
      if (auto why = impl_->check_first_byte()) return fail(why->status, std::move(why->why));
      const auto step = in.read_start_line();
      if (step == MessageReader::Step::more) return Event::none;
      if (step == MessageReader::Step::failed) return fail(in.refusal().status, in.refusal().why);
      if (!in.start_line().empty()) break;
      // RFC 9112 2.2: clients of old put an empty line behind a body.
      if (std::exchange(impl_->blank_seen, true))
        return fail(400, "there is more than one empty line before the request line");
      in.drop();
    }
    if (auto why = impl_->take_request_line(in.start_line()))
      return fail(why->status, std::move(why->why));
    impl_->state = State::fields;
  }

  if (impl_->state == State::fields) {
    const auto step = in.read_fields();
    if (step == MessageReader::Step::more) return Event::none;
    if (step == MessageReader::Step::failed) return fail(in.refusal().status, in.refusal().why);
    if (auto why = impl_->check_head()) return fail(why->status, std::move(why->why));
    in.begin_body();
    impl_->chunks.reset();
    impl_->state = in.facts().chunked ? State::chunked : State::counted;
  }
  return next_body();
}

RequestParser::Event RequestParser::next_body() {
  using State = Impl::State;
  MessageReader& in = impl_->in;
  if (impl_->state == State::counted) {
    const std::string_view unread = in.unread();
    const std::uint64_t length = in.facts().length.value_or(0);
    if (unread.size() < length) return tell_head();
    in.skip(static_cast<std::size_t>(length));
    in.keep(unread.substr(0, static_cast<std::size_t>(length)));
    return done();
  }
  for (;;) {
    std::string_view unread = in.unread();
    std::string_view piece;
    const std::size_t before = unread.size();
    const auto step = impl_->chunks.next(unread, piece);
    in.skip(before - unread.size());
    switch (step) {
      case ChunkReader::Step::more:
        return tell_head();
      case ChunkReader::Step::data:
        in.keep(piece);
        break;
      case ChunkReader::Step::end:
        return done();
      case ChunkReader::Step::failed:
        return fail(impl_->chunks.refusal().status, impl_->chunks.refusal().why);
    }
  }
}

RequestParser::Event RequestParser::tell_head() {
  if (std::exchange(impl_->head_told, true)) return Event::none;
  look_at_head();
  return Event::head;
}

RequestParser::Event RequestParser::done() {
  look_at_head();
  request_.body = impl_->in.body();
  request_.spare = impl_->in.readable_from(request_.body.data() + request_.body.size());
  impl_->in.end_body();
  impl_->state = Impl::State::done;
  return Event::request;
}

void RequestParser::look_at_head() {
  const std::string_view line = impl_->in.start_line();
  request_ = {};
  request_.method = line.substr(0, impl_->method_size);
  request_.target = line.substr(impl_->method_size + 1, impl_->target_size);
  request_.fields = FieldsView(impl_->in.fields());
}

RequestParser::Event RequestParser::fail(int status, std::string why) {
  request_ = {};
  impl_->in.clear();
  impl_->state = Impl::State::failed;
  status_ = status;
  error_ = Error{.code = -32600, .message = std::move(why)};
  return Event::failed;
}

/// What cannot begin a request is refused before its first line ends, which may be never.
std::optional<Refusal> RequestParser::Impl::check_first_byte() const {
  const char first = in.unread()[0];
  if (is_char(first, token_char) || first == '\r') return std::nullopt;
  if (first == '\x16')
    return Refusal{400, "the bytes look like TLS; this is a plain connection, use http:// here"};
  return Refusal{400, "a request begins with the byte " + byte_name(first) +
                          "; expected was the name of a method"};
}

std::optional<Refusal> RequestParser::Impl::take_request_line(std::string_view line) {
  const std::size_t first = span_of(line, token_char);
  if (first == 0 || first == line.size() || line[first] != ' ') {
    return Refusal{400,
                   "the request line " + shown(line) + " does not begin with a method and a space"};
  }
  const std::string_view behind = line.substr(first + 1);
  const std::size_t second = span_of(behind, target_char);
  if (second == 0 || second == behind.size() || behind[second] != ' ') {
    return second < behind.size() && behind[second] != ' '
               ? Refusal{400, "the target in the request line holds the byte " +
                                  byte_name(behind[second]) + " at offset " +
                                  std::to_string(first + 1 + second)}
               : Refusal{400,
                         "the request line " + shown(line) + " is not \"METHOD /target HTTP/1.1\""};
  }
  const std::string_view protocol = behind.substr(second + 1);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (protocol.size() != 8 || !protocol.starts_with("HTTP/") || !digit(protocol[5]) ||
      protocol[6] != '.' || !digit(protocol[7])) {
    return Refusal{400,
                   "the request line ends with " + shown(protocol) + "; expected was \"HTTP/1.1\""};
  }
  if (protocol == "HTTP/1.1") {
    version = Version::http_1_1;
  } else if (protocol == "HTTP/1.0") {
    version = Version::http_1_0;
  } else {
    return Refusal{505, std::string(protocol) + " is not spoken here; HTTP/1.1 is"};
  }
  method_size = first;
  target_size = second;
  return check_target(line.substr(0, first), behind.substr(0, second));
}

std::optional<Refusal> RequestParser::Impl::check_target(std::string_view method,
                                                         std::string_view target) const {
  if (target[0] == '/' || (target == "*" && method == "OPTIONS")) return std::nullopt;
  return Refusal{400, "the target " + shown(target) +
                          " is not a path; this is no proxy, and targets begin with '/'"};
}

std::optional<Refusal> RequestParser::Impl::check_head() const {
  const MessageReader::Facts& facts = in.facts();
  if (!facts.host) return Refusal{400, "the header field Host is missing"};
  const std::string_view host = in.fields()[*facts.host].value;
  if (std::string_view name, port; !split_authority(host, name, port))
    return Refusal{400, "Host is " + shown(host) +
                            "; expected was a name or address, with a port "
                            "or without"};
  if (auto why = in.framing_mistake(version == Version::http_1_0)) return why;
  if (facts.length.value_or(0) > most_body) {
    return Refusal{413, "the body of " + std::to_string(*facts.length) +
                            " bytes is longer than the limit of " + std::to_string(most_body) +
                            " bytes"};
  }
  if (facts.expect) {
    const std::string_view expected = in.fields()[*facts.expect].value;
    if (!same_name(expected, "100-continue"))
      return Refusal{417, "Expect is " + shown(expected) + "; only \"100-continue\" is known"};
  }
  return std::nullopt;
}

bool RequestParser::expects_continue() const noexcept {
  const MessageReader::Facts& facts = impl_->in.facts();
  // RFC 9110 10.1.1: clients of HTTP/1.0 do not know the answer.
  return facts.expect && impl_->version == Impl::Version::http_1_1 &&
         (facts.chunked || facts.length.value_or(0) > 0);
}

bool RequestParser::keep_alive() const noexcept {
  const MessageReader::Facts& facts = impl_->in.facts();
  if (facts.close || impl_->state == Impl::State::failed) return false;
  return impl_->version == Impl::Version::http_1_1 || facts.keep_alive;
}

bool RequestParser::takes_chunks() const noexcept {
  return impl_->version == Impl::Version::http_1_1;
}

bool RequestParser::wants_upgrade() const noexcept {
  const MessageReader::Facts& facts = impl_->in.facts();
  // RFC 9110 7.8: it means nothing in HTTP/1.0.
  return facts.upgrade && facts.upgrade_to && impl_->version == Impl::Version::http_1_1;
}

bool RequestParser::partial() const noexcept {
  switch (impl_->state) {
    case Impl::State::start:
    case Impl::State::done:
      return !impl_->in.unread().empty();
    case Impl::State::failed:
      return false;
    default:
      return true;
  }
}

std::string_view RequestParser::rest() const noexcept {
  switch (impl_->state) {
    case Impl::State::start:
    case Impl::State::done:
      return impl_->in.unread();
    case Impl::State::fields:
      return impl_->in.message();
    default:
      return {};
  }
}

void RequestParser::release() noexcept {
  if (partial()) return;
  request_ = {};
  impl_->in.drop();
  impl_->in.release();
}

std::size_t RequestParser::capacity() const noexcept { return impl_->in.capacity(); }

}  // namespace godwit::inline v0::http
