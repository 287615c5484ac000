#include "godwit/rpc/peer.hpp"

#include <algorithm>

#include "godwit/base/random.hpp"
#include "godwit/base/rollback.hpp"
#include "peer_impl.hpp"

namespace godwit::inline v0::rpc {

using detail::DeferredCall;
using detail::end_of_call;
using detail::finish_call;
using detail::later;
using detail::Letter;
using detail::PendingCall;

namespace {

std::string random_uuid() {
  std::uint32_t words[4] = {random_bits(), random_bits(), random_bits(), random_bits()};
  words[1] = (words[1] & 0xffff0fffu) | 0x4000u;      // version 4
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;  // variant 1
  static constexpr char hex[] = "0123456789abcdef";
  std::string text;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text.push_back('-');
    text.push_back(hex[(words[digit / 8] >> (28 - 4 * (digit % 8))) & 15u]);
  }
  return text;
}

}  // namespace

Peer::Peer(Output& output, std::shared_ptr<const Router> router, PeerOptions options)
    : Peer(output, std::move(router), std::make_shared<const PeerOptions>(options),
           PeerHooks{.wake = options.wake, .deadline_moved = options.deadline_moved}) {}

Peer::Peer(Output& output, std::shared_ptr<const Router> router,
           std::shared_ptr<const PeerOptions> options, PeerHooks hooks)
    : output_(output),
      impl_(std::make_unique<Impl>(*this, output, std::move(router), std::move(options),
                                   std::move(hooks))) {
  if (impl_->options.attach) impl_->user = impl_->options.attach(*this);
}

Peer::~Peer() {
  impl_->close(nullptr);
  if (impl_->busy > 0) {
    impl_->orphaned = true;
    impl_->self = nullptr;
    static_cast<void>(impl_.release());  // the last on the stack to leave deletes it
  }
}

void Peer::receive(std::string_view message, std::size_t spare, Route route) {
  receive(message, spare, impl_->connection_facts(), route);
}

void Peer::receive(std::string_view message, std::size_t spare, const Facts& facts, Route route) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  if (impl.receiving) return impl.wait(message, route, facts);
  const Impl::Receiving receiving(impl, route, facts);
  impl.message(message, spare);
  impl.after_message();
}

void Peer::receive(json::View message, Route route) {
  receive(message, impl_->connection_facts(), route);
}

void Peer::receive(json::View message, const Facts& facts, Route route) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  if (impl.receiving) return impl.wait(message.source(), route, facts);
  const Impl::Receiving receiving(impl, route, facts);
  impl.message(message);
  impl.after_message();
}

void Peer::set_connection_facts(std::shared_ptr<const Facts> facts) {
  Impl& impl = *impl_;
  if (!facts) return;
  if (!facts->identity && impl.options.identity) {
    Facts whole = *facts;
    whole.identity = impl.options.identity;
    facts = keep(whole);
  }
  impl.connection = std::move(facts);
  impl.facts = impl.connection.get();
}

void Peer::on_unreadable(const Error& error) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  const Impl::Busy busy(impl);
  impl.tell_garbage({});
  if (!impl.closed) impl.unreadable(error);
}

void Peer::on_failure(const Id& id, const Error& error) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  const auto number = impl.pending.find(id);
  if (!number) return;
  const Impl::Busy busy(impl);
  Error outcome = error;  // before the call leaves the table: it needs memory
  PendingCall call = *impl.pending.take(*number);
  finish_call(call.done, call.method, std::move(outcome), impl.options.log);
}

void Peer::on_held(const Id& id, bool held) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  const auto number = impl.pending.find(id);
  if (!number || !impl.pending.hold(*number, held, impl.options.clock->now())) return;
  const Impl::Busy busy(impl);
  const std::uint64_t tag = impl.pending.get(*number)->tag;
  if (!held && impl.deadline_moved) impl.deadline_moved();
  if (impl.options.held) impl.options.held(tag, held);
}

void Peer::on_close(const Error& reason) { impl_->close(&reason); }

void Peer::end_of_input(const Error& reason) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  const Impl::Busy busy(impl);
  const Error why = reason;
  // A stop callback may answer, which changes the tables: walk over copies.
  const auto in_flight = impl.in_flight;
  const auto notifications = impl.notifications;
  impl.input_ended = true;
  for (const auto& [id, call] : in_flight) call->request_stop();
  for (const auto& call : notifications) call->request_stop();
  impl.fail_pending(why);
}

bool Peer::closed() const noexcept { return impl_->closed; }

std::string& Peer::buffer() { return impl_->closed ? impl_->nowhere : output_.output(); }

std::optional<Error> Peer::refusal(std::string_view method, std::size_t bytes,
                                   std::size_t calls) const {
  const Limits& limits = impl_->options.limits;
  const bool closed = impl_->closed || (impl_->input_ended && calls > 0);
  const bool full = calls > 0 && impl_->pending.size() + calls > limits.pending_calls;
  if (!closed && !full && bytes <= limits.message_bytes_out) return std::nullopt;
  const std::string name =
      method.empty() ? std::string("the batch") : json::quote(method.substr(0, 200));
  if (closed) {
    return Error{.code = code::connection_closed,
                 .message = "the connection is closed; " + name + " was not sent",
                 .cause = Cause::not_connected};
  }
  if (full) {
    return Error{.code = code::busy,
                 .message = std::to_string(limits.pending_calls) +
                            " calls are waiting for an answer already; " + name + " was not sent",
                 .cause = Cause::busy};
  }
  return internal_error(name + " has " + std::to_string(bytes) + " bytes, more than " +
                        std::to_string(limits.message_bytes_out) + ", and was not sent");
}

void Peer::await(std::uint64_t number, Id id, std::string method, RawDone& done,
                 const CallOptions& options) {
  const Duration timeout = options.timeout.value_or(impl_->options.limits.call_timeout);
  const std::optional<TimePoint> before = next_deadline();
  PendingCall& call = impl_->pending.add(
      number, PendingCall{.id = std::move(id),
                          .method = std::move(method),
                          .deadline = later(impl_->options.clock->now(), timeout),
                          .timeout = timeout,
                          .route = impl_->route,
                          .tag = options.tag,
                          .done = {}});
  call.done = std::move(done);
  deadline_may_have_moved(before);
}

void Peer::deadline_may_have_moved(std::optional<TimePoint> before) {
  const std::optional<TimePoint> next = next_deadline();
  if (impl_->deadline_moved && next && (!before || *next < *before)) {
    impl_->deadline_moved();
  }
}

CallHandle Peer::finish_request(Outgoing& request, RawDone done, const CallOptions& options) {
  request.out_.push_back('}');
  if (auto error = refusal(request.method_, request.out_.size() - request.begin_, 1)) {
    request.take_back();
    const Log log = impl_->options.log;  // the callback may destroy the peer
    finish_call(done, request.method_, *std::move(error), log);
    return {};
  }
  Impl& impl = *impl_;
  const Impl::Busy busy(impl);
  Rollback unsent([&] { impl.pending.take(request.number_); });  // the caller gets the exception
  await(request.number_, request.id_, std::string(request.method_), done, options);
  request.finished_ = true;
  impl.send({.begin = request.begin_,
             .kind = Outbound::Kind::request,
             .method = request.method_,
             .ids = {&request.id_, 1},
             .fields = options.fields.empty() ? nullptr : &options.fields});
  unsent.dismiss();
  return CallHandle{request.number_};
}

CallHandle Peer::expect(const Id& id, std::string_view method, RawDone done,
                        const CallOptions& options) {
  Impl& impl = *impl_;
  std::optional<Error> error = refusal(method, 0, 1);
  const std::optional<std::int64_t> integer = id.integer();
  if (!error && (id.is_null() || (integer && *integer <= 0) || impl.pending.find(id) ||
                 (integer && impl.pending.get(static_cast<std::uint64_t>(*integer))))) {
    error = internal_error("no answer can be waited for under the id " + id.text().substr(0, 100));
  }
  if (error) {
    const Log log = impl.options.log;  // the callback may destroy the peer
    finish_call(done, method, *std::move(error), log);
    return {};
  }
  const Impl::Busy busy(impl);
  const std::uint64_t number =
      integer ? static_cast<std::uint64_t>(*integer) : impl.last_number + 1;
  await(number, id, std::string(method), done, options);
  impl.last_number = std::max(impl.last_number, number);
  return CallHandle{number};
}

Id Peer::next_call_id() {
  Impl& impl = *impl_;
  if (impl.options.ids != IdStyle::uuid) return Id(impl.last_number + 1);
  if (!impl.next_id) impl.next_id = Id(random_uuid());
  return *impl.next_id;
}

std::uint64_t Peer::calls_made() const noexcept { return impl_->last_number; }
void Peer::set_calls_made(std::uint64_t calls) noexcept { impl_->last_number = calls; }

void Peer::finish_notification(Outgoing& notification, const Id* takes_back) {
  Impl& impl = *impl_;
  if (impl.closed) return;  // taken back by its destructor
  notification.out_.push_back('}');
  if (auto error =
          refusal(notification.method_, notification.out_.size() - notification.begin_, 0)) {
    notification.take_back();  // before the log sink runs, which may end all this
    const Impl::Busy busy(impl);
    return impl.complain(LogLevel::error, error->message);
  }
  notification.finished_ = true;
  using Kind = Outbound::Kind;
  impl.send({.begin = notification.begin_,
             .kind = takes_back ? Kind::cancellation : Kind::notification,
             .method = notification.method_,
             .ids = {takes_back, takes_back ? 1u : 0u}});
}

void Peer::send_notification(std::string_view message) {
  Impl& impl = *impl_;
  if (impl.closed) return;
  const Impl::Busy busy(impl);
  if (message.size() > impl.options.limits.message_bytes_out) {
    return impl.complain(
        LogLevel::error,
        "a notification has " + std::to_string(message.size()) + " bytes, more than " +
            std::to_string(impl.options.limits.message_bytes_out) + ", and was not sent");
  }
  Output& output = output_;
  std::string& out = output.output();
  const std::size_t begin = out.size();
  out.append(message);
  impl.send(
      {.begin = begin, .kind = Outbound::Kind::notification, .method = detail::method_of(message)});
  if (!impl.closed) output.flush();
}

void Peer::Via::enter(Impl& impl, Route route) {
  if (impl.closed || impl.route == route) return;  // as always where there is one way only
  before_ = std::exchange(impl.route, route);
  impl_ = &impl;
  impl.enter();
}

void Peer::Via::leave() {
  impl_->route = before_;
  impl_->leave();
}

Batch Peer::batch() { return Batch(*this); }

bool Peer::cancel(CallHandle handle, std::string_view reason) noexcept {
  Impl& impl = *impl_;
  auto call = impl.pending.take(handle.number);
  if (!call) return false;
  const Impl::Busy busy(impl);
  impl.give_up(*call, end_of_call(code::cancelled, Cause::cancelled, [&] {
    return json::quote(call->method) + " was cancelled: " + std::string(reason);
  }));
  return true;
}

bool Peer::extend(CallHandle call, Duration timeout) {
  const TimePoint deadline = later(impl_->options.clock->now(), timeout);
  if (!impl_->pending.extend(call.number, deadline, timeout)) return false;
  if (impl_->deadline_moved) impl_->deadline_moved();
  return true;
}

std::optional<Id> Peer::id_of(CallHandle handle) const {
  const PendingCall* call = impl_->pending.get(handle.number);
  if (!call) return std::nullopt;
  return call->id;
}

bool Peer::cancel_incoming(const Id& id) {
  Impl& impl = *impl_;
  const auto found = impl.in_flight.find(id);
  if (found == impl.in_flight.end()) return false;
  const std::shared_ptr<DeferredCall> call = found->second;
  const Impl::Busy busy(impl);
  impl.forget(call);
  impl.abandon(*call, end_of_call(code::cancelled, Cause::cancelled,
                                  [] { return "the request was cancelled"; }));
  if (impl.closed) return true;
  if (call->batch) {
    const Via via(impl, call->route());
    --call->batch->waiting;
    impl.send_if_complete(*call->batch);
  } else {
    impl.output.unanswered(call->route());
  }
  return true;
}

std::optional<TimePoint> Peer::next_deadline() const {
  std::optional<TimePoint> next = impl_->pending.next_deadline();
  if (impl_->timers.empty()) return next;
  const TimePoint timer = impl_->timers.begin()->first.first;
  return next ? std::min(*next, timer) : timer;
}

Poster Peer::poster() const { return Poster(impl_->mailbox); }

void Poster::operator()(Function<void()> work) const {
  if (!mailbox_) return;
  auto letter = std::make_unique<Letter>();
  letter->work = std::move(work);
  mailbox_->post(std::move(letter));
}

PreparedPost::PreparedPost(const Poster& poster, Function<void()> work)
    : mailbox_(poster.mailbox_), letter_(std::make_unique<Letter>()) {
  letter_->work = std::move(work);
}
PreparedPost::~PreparedPost() = default;
PreparedPost::PreparedPost(PreparedPost&&) noexcept = default;
PreparedPost& PreparedPost::operator=(PreparedPost&&) noexcept = default;

void PreparedPost::operator()() noexcept {
  if (mailbox_ && letter_) mailbox_->post(std::move(letter_));
}

bool Poster::closed() const { return !mailbox_ || mailbox_->closed(); }

TimerHandle Peer::schedule(Duration after, Function<void()> work) {
  const std::optional<TimePoint> before = next_deadline();
  const TimerHandle timer{++impl_->last_timer, later(impl_->options.clock->now(), after)};
  if (impl_->closed) return timer;
  const auto made = impl_->timers.emplace(std::pair(timer.when, timer.number), std::move(work));
  Rollback undo([&] { impl_->timers.erase(made.first); });
  deadline_may_have_moved(before);
  undo.dismiss();
  return timer;
}

void Peer::unschedule(TimerHandle timer) {
  const auto found = impl_->timers.find({timer.when, timer.number});
  if (found == impl_->timers.end()) return;
  const Function<void()> dropped = std::move(found->second);  // destroyed after it left the table
  impl_->timers.erase(found);
}

void Peer::let_go(Route route) {
  if (!impl_->closed) output_.let_go(route);
}

void Peer::set_rules(const Rules& rules) { impl_->rules = rules; }

void Peer::expire(TimePoint now) {
  Impl& impl = *impl_;
  const Impl::Busy busy(impl);
  // Not more than there are now: a callback that calls again without any time would never end.
  for (std::size_t most = impl.pending.size(); most > 0; --most) {
    auto call = impl.pending.take_due(now);
    if (!call) break;
    impl.give_up(*call, end_of_call(code::request_timeout, Cause::timeout, [&] {
      return "no answer to " + json::quote(call->method) + " within " + seconds_text(call->timeout);
    }));
  }
  const std::uint64_t newest = impl.last_timer;  // those made meanwhile wait for the next time
  while (!impl.closed && !impl.timers.empty()) {
    const auto first = impl.timers.begin();
    if (first->first.first > now || first->first.second > newest) return;
    Function<void()> work = std::move(first->second);
    impl.timers.erase(first);
    impl.run(work, "a timer");
  }
}

void Peer::process() {
  Impl& impl = *impl_;
  const Impl::Busy busy(impl);
  detail::Letters letters = impl.mailbox->take();
  const Rollback rest([&] { impl.mailbox->put_back(letters); });  // if one of them throws
  while (const std::unique_ptr<Letter> letter = letters.pop()) {
    if (impl.closed) return;
    impl.deliver(*letter);
  }
}

std::size_t Peer::pending() const noexcept { return impl_->pending.size(); }
std::size_t Peer::in_flight() const noexcept { return impl_->load(); }
const PeerOptions& Peer::options() const noexcept { return impl_->options; }
const Rules& Peer::rules() const noexcept { return impl_->rules; }
const std::shared_ptr<void>& Peer::user() const noexcept { return impl_->user; }

Peer::Outgoing::Outgoing(Peer& peer, std::string& out, std::string_view method, Kind kind)
    : out_(out), begin_(out.size()), writer_(out), method_(method) {
  Rollback undo([&] { out_.resize(begin_); });  // half a message would spoil the next one
  writer_.begin_object();
  writer_.raw_key("\"jsonrpc\":");
  writer_.raw("\"2.0\"");
  if (kind == Kind::request) {
    number_ = ++peer.impl_->last_number;
    if (peer.impl_->options.ids == IdStyle::uuid) {
      id_ = peer.next_call_id();
      peer.impl_->next_id.reset();
    } else {
      id_ = Id(number_);
    }
    writer_.raw_key("\"id\":");
    id_.write(writer_);
  }
  writer_.raw_key("\"method\":");
  writer_.value(method);
  undo.dismiss();
}

Peer::Outgoing::~Outgoing() {
  if (!finished_) take_back();
}

void Peer::Outgoing::take_back() noexcept {
  out_.resize(begin_);
  finished_ = true;
}

void Context::send(std::string message) {
  if (peer_) {
    peer_->send_notification(message);
  } else if (request_) {
    request_->send(std::move(message));
  }
}

namespace detail {

Error result_threw() noexcept {
  return end_of_call(code::internal_error, Cause::unspecified, [] {
    std::string text = "the result is not what was expected: reading it threw";
    try {
      throw;
    } catch (const std::exception& e) {
      text.append(": ").append(e.what());
    } catch (...) {
    }
    return text;
  });
}

namespace {
constexpr std::string_view before_method = R"({"jsonrpc":"2.0","method":)";
}

std::string_view method_of(std::string_view notification) noexcept {
  if (!notification.starts_with(before_method)) return {};
  notification.remove_prefix(before_method.size() + 1);  // and the quote
  const std::size_t end = notification.find_first_of("\"\\");
  if (end == notification.npos || notification[end] != '"') return {};
  return notification.substr(0, end);
}

void begin_notification(std::string& out, std::string_view method) {
  json::Writer writer(out);
  out.append(before_method);
  writer.value(method);
  out.append(R"(,"params":)");
}

void end_notification(std::string& out) { out.push_back('}'); }

}  // namespace detail
}  // namespace godwit::inline v0::rpc
