// Connection: one connection of an HttpServer: reads requests one after the other, and is the
// Exchange of the one being answered. Requests that a client sent ahead wait their turn.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/http/admission.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/request_parser.hpp"
#include "godwit/http/response.hpp"
#include "godwit/io/output_buffer.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/wakeup.hpp"
#include "server_state.hpp"

namespace godwit::inline v0::http {

class Connection final : public Exchange, private Stream::Handler {
 public:
  Connection(ServerState& server, Stream stream);
  ~Connection() override;

  void start() noexcept;
  /// Answers and closes, without having read anything.
  void refuse(int status, std::string_view why) noexcept;
  /// Looks at the clock.
  void tick(TimePoint now) noexcept;
  /// The next answer is the last.
  void drain();
  /// Closes if nothing is being read or answered; false if something is.
  bool close_if_idle();
  /// Answers the large request that is being read with 503: others need the memory.
  void refuse_body() noexcept;
  /// Closes now. What is being answered is told so.
  void close() noexcept;
  /// Its request is not counted among the large ones any more.
  void uncount_body() noexcept;

  // Exchange
  void respond(int status, std::string_view type, std::string_view body,
               const Fields& more) override;
  void begin(int status, std::string_view type, const Fields& more) override;
  void write(std::string_view piece) override;
  void end() override;
  void abort() override;
  std::size_t unsent() const noexcept override { return out_.unsent(); }
  void set_owner(Owner* owner) noexcept override { owner_ = owner; }

  std::list<std::unique_ptr<Connection>>::iterator place;  // in the server's list
  bool refused = false;                                    // by refuse()

 private:
  enum class Phase : std::uint8_t {
    idle,       // between requests
    reading,    // a request has begun
    admitting,  // its head waits for a decision; nothing is read meanwhile
    answering,  // a handler has it
    streaming,  // and is sending its answer in pieces
    lingering,  // everything is said; what still comes is thrown away
    closed,
  };

  void check_time(TimePoint now);
  std::span<char> on_space() override;
  void on_data(std::size_t size) override;
  void on_end(const Result<void>& how) override;
  void on_writable() override;

  bool busy() const noexcept { return phase_ == Phase::answering || phase_ == Phase::streaming; }
  void take(std::size_t size);
  /// Goes through what has come. `decided`: the request that waited for a decision goes on.
  void pump(bool decided = false);
  bool has_room();
  bool waits_for_room() const noexcept;
  void flush_now();
  void hold_back();
  Request request();
  /// Asks whether the request may go on. False if it may not, or not yet.
  bool ask();
  void wait_for(PendingDecision pending);
  void decided();
  /// What was decided. False if it is a refusal.
  bool apply(Outcome&& outcome);
  void refuse_request(const Response& response);
  template <class F>
  void guarded(F&& run);
  void serve();
  void upgrade();
  void answered();
  void failed();
  void write_head(int status, std::string_view type, std::size_t length, bool whole,
                  const Fields& more);
  void flush();
  void end_after_answers() noexcept;
  /// Tells whoever answers that there is room, from where nobody is in the middle of a call.
  void tell_drained();
  /// Counts the memory that the request being read has taken.
  void count_body();
  /// Does that from the loop, unless the connection is destroyed before.
  enum class Later : std::uint8_t { nothing, pump, close };
  void later(Later what) noexcept;
  /// Runs something of this connection from the loop. What it throws, which is the end of memory,
  /// ends this connection and nothing else.
  template <class F>
  void survive(F&& run) noexcept;
  void set_phase(Phase phase, Duration limit);

  /// What is needed while a decision is awaited.
  struct Undecided {
    Undecided(Loop& loop, Function<void()> work) : wake(loop, std::move(work)) {}
    Wakeup wake;
    PendingDecision pending;  // goes first: it signals the other
  };

  ServerState& server_;
  Stream stream_;
  RequestParser parser_;
  std::string peer_;
  std::string local_;
  OutputBuffer out_;
  Owner* owner_ = nullptr;
  TimePoint deadline_{};
  TimePoint request_deadline_{};
  TimePoint write_deadline_{};
  std::size_t discarded_ = 0;
  Phase phase_ = Phase::idle;
  bool pumping_ = false;
  bool keep_ = true;  // may take another request after this one
  bool head_only_ = false;
  bool chunked_ = true;
  bool blocked_ = false;  // on_writable is awaited
  bool broken_ = false;   // nothing can be written any more
  bool paused_ = false;
  bool touched_ = false;                                  // since the last tick
  bool end_seen_ = false;                                 // nothing more comes in
  bool said_last_ = false;                                // everything is written, and will be
  bool body_ = false;                                     // the head of the request is there
  bool asked_ = false;                                    // and was let in
  bool access_checked_ = false;                           // by whoever let it in
  bool has_admitted_ = false;                             // it has something to say of the sender:
  Admitted admitted_;                                     // this
  Fields answer_fields_;                                  // for the answer, by the same
  std::unique_ptr<Undecided> undecided_;                  // while admitting
  bool refused_body_ = false;                             // its memory is to be given back
  std::size_t counted_ = 0;                               // in body_bytes_
  std::list<Connection*>::iterator large_;                // if it is more than none
  std::shared_ptr<std::atomic<std::size_t>> body_bytes_;  // may outlive the server
  Later what_later_ = Later::nothing;
  Wakeup later_;
};

}  // namespace godwit::inline v0::http
