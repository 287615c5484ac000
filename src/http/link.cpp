#include "link.hpp"

#include <new>
#include <utility>

namespace godwit::inline v0::http {

namespace {

/// What is still read from a server that takes nothing any more: it may have said why.
constexpr std::size_t last_words = 1u << 20;

}  // namespace

Link::Link(Loop& loop, Stream stream, const Limits& limits)
    : limits_(limits), stream_(std::move(stream)), parser_(limits), stall_(loop) {
  stream_.set_handler(*this);
}

Link::~Link() = default;

void Link::send(User& user, std::string_view method) {
  user_ = &user;
  lost_ = nullptr;
  size_ = user.request_text().size();
  sent_ = 0;
  heard_ = false;
  survive([&] {
    parser_.begin(method);
    stream_.resume();
    if (user_) write();  // it may have failed already
  });
}

void Link::wait(TimePoint since, Function<void()> lost) {
  since_ = since;
  lost_ = std::move(lost);
  size_ = 0;
  sent_ = 0;
}

void Link::close() noexcept {
  user_ = nullptr;
  lost_ = nullptr;
  ended_ = true;
  stall_.cancel();
  stream_.close();
}

Stream Link::take() {
  stream_.pause();
  ended_ = true;
  return std::move(stream_);
}

bool Link::reusable() const noexcept {
  return parser_.reusable() && sent() && !ended_ && !write_error_;
}

// Writing.

void Link::write() {
  if (write_error_ || sent()) return;
  const Result<std::size_t> put = stream_.write_some(user_->request_text().substr(sent_));
  if (!put) {
    // The server may have answered before it went: on_end() follows what it said.
    write_error_ = put.error();
    stall_.cancel();
    return stream_.drain(last_words);
  }
  sent_ += *put;
  if (sent()) return stall_.cancel();
  stall_.start(limits_.write_stall, [this] {
    fail(error("the server does not take the request: no byte of it in " +
               std::to_string(
                   std::chrono::duration_cast<std::chrono::seconds>(limits_.write_stall).count()) +
               " s"));
  });
}

void Link::on_writable() {
  survive([&] {
    if (user_) write();
  });
}

template <class F>
void Link::survive(F&& run) {
  const auto self = shared_from_this();
  try {
    run();
  } catch (const std::bad_alloc&) {
    if (!user_) throw;  // it has its outcome, and could not take it: that is not for us to mend
    fail(Error{.message = "out of memory"});  // short enough to need none
  }
}

// Reading.

std::span<char> Link::on_space() {
  static thread_local char discarded[4096];
  std::span<char> space;
  survive([&] { space = parser_.prepare(); });
  return space.empty() ? discarded : space;
}

void Link::on_data(std::size_t size) {
  survive([&] { take(size); });
}

void Link::take(std::size_t size) {
  if (ended_) return;
  if (!user_) {  // nobody asked
    ended_ = true;
    if (auto lost = std::exchange(lost_, nullptr)) lost();
    return;
  }
  heard_ = true;
  parser_.commit(size);
  pump();
}

void Link::on_end(const Result<void>& how) {
  survive([&] { take_end(how); });
}

void Link::take_end(const Result<void>& how) {
  ended_ = true;
  if (!user_) {
    if (auto lost = std::exchange(lost_, nullptr)) lost();
    return;
  }
  if (write_error_) return fail(*write_error_);
  if (!how) return fail(how.error());
  parser_.finish();
  pump();
}

void Link::pump() {
  using Event = ResponseParser::Event;
  while (user_) {
    switch (parser_.next()) {
      case Event::none:
        return;
      case Event::head:
        user_->on_head(parser_.status(), parser_.fields());
        break;
      case Event::body:
        user_->on_body(parser_.body());
        break;
      case Event::end:
        stall_.cancel();
        return std::exchange(user_, nullptr)->on_done();
      case Event::failed:
        return fail(parser_.error());
    }
  }
}

void Link::fail(Error why) {
  User* const user = std::exchange(user_, nullptr);
  const auto self = shared_from_this();
  close();
  if (user) user->on_broken(std::move(why));
}

}  // namespace godwit::inline v0::http
