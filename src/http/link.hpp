// Link: a client's connection to a server. Sends one request at a time and reads its answer;
// between two of them it waits, and tells if the server ends it meanwhile.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/error.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/http/response_parser.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"

namespace godwit::inline v0::http {

/// Shared because its user is handed views of its buffer, and may let go of it then.
class Link final : public Stream::Handler, public std::enable_shared_from_this<Link> {
 public:
  class User {
   public:
    /// The text of the request that is being sent; the same until the answer is there.
    virtual std::string_view request_text() const noexcept = 0;
    virtual void on_head(int status, FieldsView fields) = 0;
    virtual void on_body(std::string_view piece) = 0;
    /// The answer is complete; nobody uses the link now.
    virtual void on_done() = 0;
    /// There will be no answer, or no more of it. The link is closed.
    virtual void on_broken(Error why) = 0;

   protected:
    ~User() = default;
  };

  Link(Loop& loop, Stream stream, const Limits& limits);
  ~Link() override;

  /// Sends the request of the user, on the loop. The user stays until one of its last two callbacks
  /// or close(). Of them nothing is called before this returns.
  void send(User& user, std::string_view method);
  /// Waits for the next request. `lost` is called if the server ends it, or talks unasked.
  void wait(TimePoint since, Function<void()> lost);
  TimePoint waits_since() const noexcept { return since_; }
  /// No callback follows.
  void close() noexcept;
  /// The connection itself, after the answer: for another protocol. Nothing reads it any more.
  Stream take();

  /// A byte of the answer came.
  bool heard() const noexcept { return heard_; }
  /// The system has taken the whole request.
  bool sent() const noexcept { return sent_ == size_; }
  /// Whether another request may follow the answer.
  bool reusable() const noexcept;
  /// What came behind the answer.
  std::string_view rest() const noexcept { return parser_.rest(); }

 private:
  std::span<char> on_space() override;
  void on_data(std::size_t size) override;
  void on_end(const Result<void>& how) override;
  void on_writable() override;

  void write();
  void take(std::size_t size);
  void take_end(const Result<void>& how);
  void pump();
  void fail(Error why);
  /// Runs something of this connection from the loop. What it throws, which is the end of memory,
  /// ends the connection.
  template <class F>
  void survive(F&& run);

  Limits limits_;
  Stream stream_;
  ResponseParser parser_;
  Timer stall_;
  User* user_ = nullptr;
  Function<void()> lost_;
  TimePoint since_{};
  std::size_t size_ = 0;  // of the request
  std::size_t sent_ = 0;
  std::optional<Error> write_error_;
  bool heard_ = false;
  bool ended_ = false;
};

}  // namespace godwit::inline v0::http
