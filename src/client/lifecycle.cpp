// How a session begins: the probe, the handshake, and what is agreed on.
#include <chrono>
#include <new>

#include "godwit/mcp/revision.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/carrier_error.hpp"
#include "mcp/rules.hpp"
#include "session_state.hpp"

namespace godwit::inline v0 {

namespace {

/// A server may refuse a revision and offer the same one again; more than this is a game.
constexpr unsigned most_probes = 3;
/// How much of what is no message an error quotes: enough to recognise a banner or a usage text.
constexpr std::size_t most_garbage_lines = 5;
constexpr std::size_t most_garbage_bytes = 200;  // of each

std::string list(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name.substr(0, 100);
  return out.empty() ? "none" : out;
}

std::string own_revisions() {
  std::string out;
  for (const std::string_view name : revisions()) {
    out += (out.empty() ? "" : ", ") + std::string(name);
  }
  return out;
}

/// Whether nobody was reached who could have meant something by it: the handshake would meet the
/// same.
bool is_no_question_of_era(const Error& error) {
  if (is_not_authorized(error)) return true;
  const auto failure = mcp::carrier_failure(error);
  if (!failure) return false;
  return failure->status == 0 || failure->status == 401 || failure->status == 403 ||
         failure->status == 407 || failure->status / 100 == 3;
}

ClientCapabilities declared(const ClientOptions& options) {
  ClientCapabilities out;
  if (options.elicit && (options.elicit_forms || options.elicit_urls)) {
    out.elicitation.emplace();
    if (options.elicit_forms) out.elicitation->form.emplace();
    if (options.elicit_urls) out.elicitation->url.emplace();
  }
  if (options.sample) {
    out.sampling.emplace();
    if (options.sample_tools) out.sampling->tools.emplace();
  }
  if (options.roots || options.list_roots) {
    out.roots.emplace();
    // Only a list that is set can be known to have changed.
    if (options.roots) out.roots->listChanged = true;
  }
  out.experimental = options.experimental;
  out.extensions = options.extensions;
  return out;
}

}  // namespace

ClientSession::State::State(ClientOptions options_)
    : options(std::move(options_)), capabilities(declared(options)) {}

/// Without the memory for a step of it, the start has failed.
template <class F>
void ClientSession::State::or_fail_start(F&& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    if (started) fail_start(out_of_memory());
  }
}

void ClientSession::State::start(rpc::Peer& to, Function<void(Result<void>)> done) {
  if (phase != Phase::idle) {
    done(phase == Phase::ended ? why : rpc::internal_error("the session was started before"));
    return;
  }
  if (to.closed()) {
    done(rpc::connection_closed("the connection is closed"));
    return;
  }
  const auto self = shared_from_this();
  peer = &to;
  has_fields = to.has_fields();
  phase = Phase::starting;
  started = std::move(done);
  or_fail_start([&] {
    limit_start(options.start_timeout);
    begin_start();
  });
}

void ClientSession::State::begin_start() {
  const Verdict* known = options.verdict ? &*options.verdict : nullptr;
  if (options.lifecycle == Lifecycle::stateful || (known && !known->stateless)) {
    return initialize(known ? known->revision : std::string());
  }
  if (known) {
    if (const mcp::Codec* const found = eras.alone(known->revision)) {
      return adopt({.codec = found,
                    .capabilities = known->capabilities,
                    .server = known->server,
                    .instructions = known->instructions,
                    .revisions = known->revisions});
    }
  }
  probe(eras.newest_alone(), 1);
}

// The probe. Whatever a server of the other era makes of it, the handshake comes after it on the
// same connection; an answer that is late finds nobody who waits for its id.

void ClientSession::State::probe(const mcp::Codec& with, unsigned tries) {
  const RawJson params{"{\"_meta\":{" + with.introduction(capabilities, options.info) + "}}"};
  rpc::CallOptions patience;
  const bool may_fall_back = options.lifecycle == Lifecycle::automatic;
  patience.timeout = may_fall_back ? options.probe_timeout : Duration::max();
  patience.fields = fields_beside(with, with.name_of(mcp::Operation::discover));
  probe_unanswered = true;
  peer->call<detail::client::ResultView>(
      with.name_of(mcp::Operation::discover), params,
      [self = shared_from_this(), asked = &with,
       tries](Result<detail::client::ResultView> outcome) {
        self->or_fail_start([&] { self->on_probe(*asked, tries, std::move(outcome)); });
      },
      patience);
}

void ClientSession::State::on_probe(const mcp::Codec& with, unsigned tries,
                                    Result<detail::client::ResultView> outcome) {
  probe_unanswered =
      !outcome && (is_timeout(outcome.error()) || is_connection_closed(outcome.error()));
  if (phase == Phase::ended) return finish_start(reason_of_end());
  if (phase != Phase::starting) return;
  const bool may_fall_back = options.lifecycle == Lifecycle::automatic;
  if (outcome) {
    if (auto problem = too_long(outcome->view)) return fail_start(*std::move(problem));
    auto found = with.read_discovery(outcome->view);
    if (found) {
      const bool agreed = eras.best_alone(found->revisions) != nullptr;
      // A server that answers the question without naming the revision it was asked in contradicts
      // itself; it is taken at its answer unless it offers a handshake.
      if (agreed || !eras.best_by_handshake(found->revisions) || !may_fall_back) {
        return adopt(*std::move(found));
      }
      probe_problem = "it offers " + list(found->revisions);
      return initialize({});
    }
    probe_problem = "its answer cannot be read: " + found.error().message;
    if (may_fall_back) return initialize({});
    return fail_start(rpc::internal_error("the server is not stateless: " + probe_problem));
  }
  const Error& error = outcome.error();
  if (const auto offered = with.spoken_instead(error)) {
    const mcp::Codec* const mutual = eras.best_alone(*offered);
    if (mutual && tries < most_probes) return probe(*mutual, tries + 1);
    if (!mutual && may_fall_back && eras.best_by_handshake(*offered)) {
      probe_problem = "it offers " + list(*offered);
      return initialize({});
    }
    Error sentence = error;
    sentence.message = mutual ? "the server refuses revision " + std::string(with.revision()) +
                                    " again and again although it offers it"
                              : "no revision in common: the server speaks " + list(*offered) +
                                    ", this client " + own_revisions() +
                                    "; update the one that is older";
    return fail_start(std::move(sentence));
  }
  if (with.is_own_error(error)) {
    Error sentence = error;
    sentence.message = "the server refused to say what it can do: " + error.message;
    return fail_start(std::move(sentence));
  }
  if (is_no_question_of_era(error)) return fail_start(error);
  probe_problem = error.message;
  if (may_fall_back) return initialize({});
  Error sentence = error;
  sentence.message = "the server does not speak the stateless revision " +
                     std::string(with.revision()) + " (" + error.message +
                     "); allow the handshake with Lifecycle::automatic";
  fail_start(std::move(sentence));
}

// The handshake.

void ClientSession::State::initialize(std::string_view revision) {
  const mcp::Codec& offer = eras.negotiate(revision);
  std::string params;
  json::Writer writer(params);
  offer.write_handshake(writer, capabilities, options.info);
  peer->call<detail::client::ResultView>(
      offer.name_of(mcp::Operation::initialize), RawJson{std::move(params)},
      [self = shared_from_this(), offer = &offer](Result<detail::client::ResultView> outcome) {
        self->or_fail_start([&] { self->on_initialize(*offer, std::move(outcome)); });
      },
      {.timeout = Duration::max()});
}

void ClientSession::State::on_initialize(const mcp::Codec& offer,
                                         Result<detail::client::ResultView> outcome) {
  if (phase == Phase::ended) return finish_start(reason_of_end());
  if (phase != Phase::starting) return;
  if (!outcome) {
    Error error = std::move(outcome).error();
    if (!probe_problem.empty()) error.message = unanswered() + ": " + error.message;
    return fail_start(std::move(error));
  }
  if (auto problem = too_long(outcome->view)) return fail_start(*std::move(problem));
  auto found = offer.read_handshake_result(outcome->view, eras);
  if (!found) return fail_start(std::move(found).error());
  rpc::Rules rules = peer->rules();
  rules.batch = found->codec->carrier_rules().batches;
  peer->set_rules(rules);
  shook_hands = true;
  peer->notify(found->codec->name_of(mcp::Operation::initialized));
  adopt(*std::move(found));
}

std::optional<Error> ClientSession::State::too_long(json::View description) const {
  const std::size_t size = description.source().size();
  if (size <= options.limits.session_bytes) return std::nullopt;
  return rpc::internal_error(
      "the server says more about itself than is kept: " + std::to_string(size) +
      " bytes, more than Limits::session_bytes (" + std::to_string(options.limits.session_bytes) +
      "); its instructions or icons are too long");
}

void ClientSession::State::adopt(mcp::Welcome found) {
  welcome = std::move(found);
  codec = welcome.codec;
  introduction = codec->introduction(capabilities, options.info);
  // It may have ended while the notification was sent.
  if (phase == Phase::ended) return finish_start(reason_of_end());
  phase = Phase::ready;
  finish_start({});
}

void ClientSession::State::take_garbage(std::string_view text) {
  if (phase != Phase::starting) return;
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (!text.empty() && garbage_lines < most_garbage_lines) {
    ++garbage_lines;
    garbage += (garbage.empty() ? "" : ", ") + json::quote(text.substr(0, most_garbage_bytes));
    if (text.size() > most_garbage_bytes) garbage += "...";
  }
  limit_start(options.garbage_timeout);
}

void ClientSession::State::limit_start(Duration within) { limit_start(within, within); }

void ClientSession::State::limit_start(Duration left, Duration within) {
  if (start_end.number != 0 && start_end.when - now() <= left) return;
  start_within = within;
  const rpc::TimerHandle sooner = peer->schedule(left, [weak = weak_from_this(), within] {
    const auto self = weak.lock();
    if (!self || self->phase != Phase::starting) return;
    self->or_fail_start([&] {
      self->fail_start(Error{.code = rpc::code::request_timeout,
                             .message = self->unanswered() + " within " + seconds_text(within),
                             .cause = Cause::timeout});
    });
  });
  peer->unschedule(std::exchange(start_end, sooner));
}

std::string ClientSession::State::unanswered() const {
  if (probe_problem.empty()) return "the server did not answer how the session begins";
  return "the server answered neither the question whether it is stateless (" + probe_problem +
         ") nor the handshake";
}

void ClientSession::State::fail_start(Error error) noexcept {
  phase = Phase::failed;
  why = quoting_garbage(std::move(error));
  finish_start(reason_of_end());
}

Error ClientSession::State::quoting_garbage(Error error) const noexcept {
  const auto quoting = [&] {
    if (!garbage.empty()) error.message += "; what it sent is no message: " + garbage;
    return std::move(error);
  };
  return or_out_of_memory(quoting, error.cause, error.code);
}

void ClientSession::State::finish_start(Result<void> outcome) noexcept {
  if (peer) peer->unschedule(std::exchange(start_end, {}));
  Function<void(Result<void>)> done = std::exchange(started, nullptr);
  run("the callback of start() threw", done, std::move(outcome));
}

// The end.

void ClientSession::State::peer_ended(const Error& reason) noexcept {
  const auto self = shared_from_this();
  const bool starting = phase == Phase::starting;
  peer = nullptr;
  phase = Phase::ended;
  why = or_out_of_memory(
      [&] { return rpc::connection_closed("the connection is closed (" + reason.message + ")"); },
      Cause::connection_closed, rpc::code::connection_closed);
  if (starting) why = quoting_garbage(std::move(why));
  // Exchanges that wait for the server are failed by the peer; those that wait for the program, or
  // for time to pass, are known only here. What is told may end others, so they are in a list.
  ExchangePtr between;
  for (const auto& [number, exchange] : exchanges) {
    if (exchange->call.number == 0) exchange->next = std::exchange(between, exchange);
  }
  while (const ExchangePtr first = between) {
    between = std::exchange(first->next, nullptr);
    finish(first, reason_of_end());
  }
  const auto lost = std::exchange(channels, {});
  for (const auto& [number, channel] : lost) lose_channel(channel, reason_of_end());
}

Error ClientSession::State::reason_of_end() const noexcept {
  return or_out_of_memory([&] { return why; }, why.cause, why.code);
}

void ClientSession::State::abandoned(const rpc::Id& id, const Error& reason) {
  // The handshake must not be cancelled, and a probe may have met a server that knows no such
  // notification before it.
  if (!peer || phase != Phase::ready || quiet) return;
  peer->notify_cancelled(id, codec->name_of(mcp::Operation::cancelled),
                         mcp::CancelledParams{.requestId = id, .reason = reason.message});
}

void ClientSession::State::shut_down() noexcept {
  const auto self = shared_from_this();
  constexpr std::string_view text = "the session was destroyed";
  why = or_out_of_memory(
      [&] {
        return Error{
            .code = rpc::code::cancelled, .message = std::string(text), .cause = Cause::cancelled};
      },
      Cause::cancelled, rpc::code::cancelled);
  channels_end_silently();
  // Those of now: what is told may begin others.
  for (std::size_t left = exchanges.size(); left > 0 && !exchanges.empty(); --left) {
    const ExchangePtr first = exchanges.begin()->second;
    try {
      cancel(first->number, text);
    } catch (...) {  // without memory the server is not told, but nothing waits either
      options.log.caught("the end of a session");
    }
    if (exchanges.erase(first->number) > 0) finish(first, reason_of_end());
  }
  phase = Phase::ended;  // from now on they fail by themselves
  peer = nullptr;
  while (!exchanges.empty()) {
    const ExchangePtr first = exchanges.begin()->second;
    exchanges.erase(exchanges.begin());
    finish(first, reason_of_end());
  }
  finish_start(reason_of_end());
}

}  // namespace godwit::inline v0
