// The inside of a Peer: its tables, what it does with a message, how answers are written. All of it
// on the peer's thread.
//
// Handlers, callbacks, middleware and log sinks may close the peer and even destroy it. So every
// function that runs one of them holds a Busy, which keeps this object alive, and looks at `closed`
// before it touches the output again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "deferred.hpp"
#include "encode.hpp"
#include "envelope.hpp"
#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"
#include "pending.hpp"

namespace godwit::inline v0::rpc {

struct Peer::Impl {
  class Incoming;  // a request whose handler is on the stack
  using BatchPtr = std::shared_ptr<detail::BatchAnswers>;
  using DeferredPtr = std::shared_ptr<detail::DeferredCall>;

  /// Keeps the inside of a peer while program code runs that may destroy the peer. Kept, and not
  /// only watched, because answers that are ready and other calls are still looked at after such
  /// code; and not by a shared_ptr, because every message does this, and an atomic count would be a
  /// part of its cost.
  class Busy {
   public:
    explicit Busy(Impl& impl) noexcept : impl_(impl) { impl_.enter(); }
    ~Busy() { impl_.leave(); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Impl& impl_;
  };

  /// The same while a message is being handled: others that come meanwhile wait.
  class Receiving {
   public:
    Receiving(Impl& impl, Route route, const Facts& facts) noexcept
        : busy_(impl), impl_(impl), before_(std::exchange(impl.route, route)) {
      impl_.receiving = true;
      impl_.facts = &facts;
    }
    ~Receiving() {
      impl_.receiving = false;
      impl_.route = before_;
      impl_.facts = &impl_.connection_facts();
    }
    Receiving(const Receiving&) = delete;
    Receiving& operator=(const Receiving&) = delete;

   private:
    Busy busy_;  // outlives the flag
    Impl& impl_;
    const Route before_;
  };

  /// The same while a message that was held goes on, which may be inside of another.
  class Resuming {
   public:
    Resuming(Impl& impl, const std::shared_ptr<const Facts>& facts) noexcept
        : busy_(impl),
          impl_(impl),
          nested_(std::exchange(impl.receiving, true)),
          before_(std::exchange(impl.facts, facts ? facts.get() : &no_facts())) {}
    ~Resuming() {
      impl_.receiving = nested_;
      impl_.facts = before_;
    }
    Resuming(const Resuming&) = delete;
    Resuming& operator=(const Resuming&) = delete;
    bool outermost() const noexcept { return !nested_; }

   private:
    Busy busy_;
    Impl& impl_;
    const bool nested_;
    const Facts* const before_;
  };

  Impl(Peer& self_, Output& output_, std::shared_ptr<const Router> router_,
       std::shared_ptr<const PeerOptions> options_, PeerHooks hooks)
      : self(&self_),
        output(output_),
        router(std::move(router_)),
        shared_options(std::move(options_)),
        options(*shared_options),
        rules(options.rules),
        user(options.user),
        connection(options.identity ? keep({.identity = options.identity}) : nullptr),
        facts(&connection_facts()),
        deadline_moved(std::move(hooks.deadline_moved)),
        parse_options(json::ParseOptions::from(options.limits)),
        mailbox(std::make_shared<detail::Mailbox>(std::move(hooks.wake), options.limits)) {}

  Peer* self;      // null once orphaned
  Output& output;  // not to be used when closed
  std::shared_ptr<const Router> router;
  std::shared_ptr<const PeerOptions> shared_options;
  const PeerOptions& options;
  Rules rules;
  std::shared_ptr<void> user;
  std::shared_ptr<const Facts> connection;  // what is known about all messages; may be null
  const Facts* facts;                       // of the message that is being handled
  std::function<void()> deadline_moved;
  json::ParseOptions parse_options;
  std::shared_ptr<detail::Mailbox> mailbox;
  json::Document document;

  bool closed = false;
  std::string nowhere;       // for what is written after that
  bool input_ended = false;  // no call can get an answer any more
  bool end_told = false;     // PeerOptions::ended was called
  bool receiving = false;
  void enter() noexcept { ++busy; }
  void leave() noexcept {
    if (--busy == 0 && orphaned) delete this;
  }
  unsigned busy = 0;
  bool orphaned = false;  // the Peer is gone; the last to leave deletes this
  Route route = 0;        // that messages take now
  struct Waiting {
    std::string text;
    Route route;
    std::shared_ptr<const Facts> facts;
  };
  std::list<Waiting> waiting_messages;  // that came while one was being handled

  std::uint64_t last_number = 0;
  std::optional<Id> next_id;  // of the next own call, if it had to be known before
  std::uint64_t last_timer = 0;
  std::map<std::pair<TimePoint, std::uint64_t>, Function<void()>> timers;
  detail::PendingTable pending;
  std::unordered_map<Id, DeferredPtr, IdHash> in_flight;
  std::unordered_set<DeferredPtr> notifications;  // deferred ones
  std::size_t in_flight_bytes = 0;                // of the params of both
  std::string scratch;                            // results nobody wants
  std::string seen_result;                        // the last one that middleware saw
  /// What is larger is not kept for the next message: there may be many connections.
  static constexpr std::size_t most_reused = 8u << 10;
  std::unordered_set<std::string> slow_methods;

  const Facts& connection_facts() const noexcept { return connection ? *connection : no_facts(); }
  /// For longer than the message is being handled.
  std::shared_ptr<const Facts> kept(const Facts& about) const {
    return &about == &connection_facts() ? connection : keep(about);
  }
  std::shared_ptr<const Facts> kept_facts() const { return kept(*facts); }
  /// Of a copy of them.
  std::size_t facts_bytes() const {
    if (facts == &connection_facts()) return 0;
    std::size_t bytes = facts->peer.size();
    facts->fields.for_each(
        [&](const HeaderField& field) { bytes += field.name.size() + field.value.size(); });
    return bytes;
  }

  /// The log sink is code of the program, too.
  void complain(LogLevel level, std::string_view line) {
    if (options.log.enabled(level)) options.log.limited(level, line, options.clock->now());
  }

  // Input.

  void message(std::string_view text, std::size_t spare);
  void message(json::View root);
  /// Not inlined, so that only large messages pay for a parser of their own.
  [[gnu::noinline]] void large_message(std::string_view text, std::size_t spare);
  void parse_with(json::Document& parser, std::string_view text, std::size_t spare);
  void wait(std::string_view message, Route from, const Facts& about) {
    waiting_messages.push_back({std::string(message), from, kept(about)});
  }
  /// What came while a message was being handled.
  void after_message();
  void handle_waiting();
  void batch(json::View array);
  /// Ends the own calls that a batch answers which is refused.
  void fail_answered(json::View array, const Error& problem);
  void entry(json::View view, const BatchPtr& batch);
  void dispatch(const detail::Envelope& envelope, const BatchPtr& batch);
  void handle(Incoming& call, const detail::Handler& handler, std::string_view method);
  /// Goes on with a request that middleware held.
  void resume(const DeferredPtr& call);
  void response(const detail::Envelope& envelope);
  /// What a response means to the call that waits for it.
  Result<json::View> outcome_of(const detail::Envelope& response, std::uint64_t call);
  /// Answers a message that breaks the rules, under its id if it has a usable one.
  void refuse(json::View id, const std::string& problem, const BatchPtr& batch);
  /// Tells the host of something that is no message.
  void tell_garbage(std::string_view text) noexcept;
  void warn_if_slow(std::string_view method, TimePoint before);

  // Outcomes.

  /// Takes a deferred call out of the tables. The only way out of them: false if it had left
  /// before.
  bool forget(const DeferredPtr& call);
  std::size_t load() const noexcept { return in_flight.size() + notifications.size(); }
  /// The params of all peers that count together.
  std::size_t bytes_of_all() const noexcept {
    return options.in_flight_bytes ? options.in_flight_bytes->load(std::memory_order_relaxed)
                                   : in_flight_bytes;
  }
  /// Why a call with params of this size cannot be deferred now.
  std::optional<Error> overload(std::size_t bytes) const;
  /// Sends the answer of a deferred call, or the message it wants sent on the way. If that
  /// throws, whoever waits for the answer is told by the carrier; if it cannot, this throws.
  void deliver(detail::Letter& letter);
  void deliver_to(detail::Letter& letter);
  /// Runs work of the program that has no one to report to but the log.
  /// Not on the way of any request.
  void run(Function<void()>& work, std::string_view what) noexcept;
  /// Ends a deferred call that left the tables without an answer.
  void abandon(detail::DeferredCall& call, const Error& reason) noexcept;
  /// Ends an own call that left its table without an answer, and tells the other side.
  void give_up(detail::PendingCall& call, Error reason) noexcept;
  /// Ends all own calls, because no answer can come any more.
  void fail_pending(const Error& reason) noexcept;
  /// The end, which needs no memory: without any, those who wait hear less about it.
  void close(const Error* reason) noexcept;
  /// Lets middleware see and change the outcome of a call: those that let it through, each once.
  void settle(Outcome& outcome, detail::CallStates& states) noexcept;
  void settle(Outcome& outcome, detail::DeferredCall& call) noexcept;
  /// An error in place of what cannot be sent.
  static void fail(Outcome& outcome) noexcept;
  Outcome outcome_of(const detail::DeferredCall& call) const noexcept;
  /// Ends a deferred call that left the tables, with an answer.
  void finish(detail::DeferredCall& call, Outcome& outcome);
  void finish(detail::DeferredCall& call, Error error);
  void complain_about_notification(std::string_view method, const Error& error);

  // Output.

  std::string& target(const BatchPtr& batch) { return batch ? batch->text : output.output(); }
  static std::size_t open(std::string& out, bool in_batch) {
    const std::size_t begin = out.size();
    if (in_batch && begin > 0) out.push_back(',');
    return begin;
  }
  /// Hands a message to the carrier. It takes the way of the message that is being handled.
  void send(Outbound message) {
    message.route = route;
    if (options.tap && !show_outgoing(message)) return;
    output.finish(message);
  }
  /// Shows a message to the tap. False if the peer was closed by that: this may be gone, then.
  bool show(const TappedMessage& message) noexcept;
  bool show_outgoing(const Outbound& message);
  bool show_incoming(json::View message);
  /// Where an answer in the buffer names what it answers.
  struct IdPlace {
    std::size_t begin = 0;
    std::size_t end = 0;  // 0 if it does not
  };
  void commit(std::size_t begin, IdPlace id, const Error* error, const BatchPtr& batch) {
    if (batch) return;
    const std::string_view text = output.output();
    send({.begin = begin,
          .kind = Outbound::Kind::answer,
          .answers = text.substr(id.begin, id.end - id.begin),
          .error = error});
  }
  /// Would the answer at the end of `out` make the message too large? A batch is one message.
  bool oversized(const std::string& out, std::size_t begin, bool in_batch,
                 std::size_t missing = 0) const {
    const std::size_t size = in_batch ? out.size() + 2 : out.size() - begin;
    return size + missing > options.limits.message_bytes_out;
  }
  Error too_large() const {
    return internal_error("response too large (more than " +
                          std::to_string(options.limits.message_bytes_out) + " bytes)");
  }

  /// One answer: an error, or a result if `error` is null. `write_id` writes the id, if it has one.
  template <class WriteId>
  void write_answer(const Error* error, std::string_view result, const BatchPtr& batch, bool has_id,
                    WriteId&& write_id) {
    std::string& out = target(batch);
    const std::size_t begin = open(out, batch != nullptr);
    const IdPlace id = write_response(out, error, result, has_id, write_id);
    if (!oversized(out, begin, batch != nullptr)) return commit(begin, id, error, batch);
    out.resize(begin);
    open(out, batch != nullptr);
    const Error replacement = too_large();
    const IdPlace again = write_response(out, &replacement, {}, has_id, write_id);
    commit(begin, again, &replacement, batch);
  }
  template <class WriteId>
  static IdPlace write_response(std::string& out, const Error* error, std::string_view result,
                                bool has_id, WriteId&& write_id) {
    IdPlace id;
    json::Writer writer(out);
    writer.begin_object();
    writer.raw_key("\"jsonrpc\":");
    writer.raw("\"2.0\"");
    if (has_id) {
      writer.raw_key("\"id\":");
      id.begin = out.size();
      write_id(writer);
      id.end = out.size();
    }
    if (error) {
      writer.raw_key("\"error\":");
      detail::write_error(writer, *error);
    } else {
      writer.raw_key("\"result\":");
      writer.raw(result);
    }
    writer.end_object();
    return id;
  }

  void answer(json::View id, const Error* error, std::string_view result, const BatchPtr& batch) {
    write_answer(error, result, batch, true, [&](json::Writer& writer) { write_id(writer, id); });
  }
  /// An error for a message without a usable id.
  void unreadable(const Error& error, const BatchPtr& batch = nullptr);
  void send_if_complete(detail::BatchAnswers& answers);
};

}  // namespace godwit::inline v0::rpc
