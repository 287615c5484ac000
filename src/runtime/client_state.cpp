#include "client_state.hpp"

#include <algorithm>
#include <exception>
#include <new>

namespace godwit::inline v0 {

void Client::State::run_thread() {
  thread = std::thread([self = shared_from_this()] {
    while (true) {
      try {
        self->loop.run();
        return;
      } catch (const std::bad_alloc&) {
        self->options.log.caught("the connection is closed");
        self->break_off();
      } catch (...) {  // of a callback of the program
        self->options.log.caught("a callback of the client threw");
      }
    }
  });
}

/// Memory ran out somewhere: an answer may be lost, and nobody may wait for it. The next call
/// begins a new connection.
void Client::State::break_off() noexcept {
  phase = Phase::closing;  // so that what ends now is no answer to a start, and begins nothing
  why = out_of_memory(Cause::not_connected, rpc::code::connection_closed);
  connector.reset();
  websocket.reset();
  if (connection) connection->peer().on_close(why);  // calls that wait hear this reason
  session.reset();
  command = nullptr;
  connection.reset();
  phase = Phase::closed;
  try {
    tell_waiting(why);
    listens_broke();
    if (finished) finish();
  } catch (...) {
    options.log.caught("a callback of the client threw");
  }
}

void Client::State::close() {
  if (!thread.joinable()) return;
  closing.signal();
  if (loop.on_loop_thread()) {
    thread.detach();  // it keeps this object until it is done
  } else {
    thread.join();
  }
}

void Client::State::use(Work work) {
  if (finished) return work(why);
  if (phase == Phase::ready && session->ready()) return work(&*session);
  const bool again = !opened_before || options.restart;
  if (phase != Phase::opening && !again) {
    // The session of a connection that is just ending knows best why.
    return phase == Phase::ready ? work(&*session) : work(why);
  }
  waiting.push_back(std::move(work));
  if (phase == Phase::closed) open();  // otherwise the end of the old connection leads there
}

void Client::State::use_next(Work work) {
  if (finished) return work(why);
  if (phase == Phase::closed) return use(std::move(work));
  waiting.push_back(std::move(work));
}

void Client::State::open() {
  opened_before = true;
  phase = Phase::opening;
  try {
    opener(*this, [this](Result<std::unique_ptr<rpc::Transport>> transport) {
      or_break_off([&] { on_transport(std::move(transport)); });
    });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    cannot_open(e.what());
  } catch (...) {
    cannot_open("something that is not a std::exception was thrown");
  }
}

/// In a catch block.
void Client::State::cannot_open(std::string_view reason) {
  if (phase != Phase::opening || connection) throw;
  on_transport(error("no connection can be made: " + std::string(reason)));
}

void Client::State::on_transport(Result<std::unique_ptr<rpc::Transport>> transport) {
  if (finished) return;
  if (!transport) {
    phase = Phase::closed;
    why = std::move(transport).error();
    if (why.cause == Cause::unspecified) why.cause = Cause::not_connected;
    return tell_waiting(why);
  }
  ClientOptions mine = options;
  if (const Verdict before = known(); !before.revision.empty()) mine.verdict = before;
  if (skip_probe) mine.lifecycle = Lifecycle::stateful;
  session.emplace(std::move(mine));
  connection.emplace(loop, *std::move(transport), session->router(), session->peer_options());
  connection->on_close([this](const Error& reason) { or_break_off([&] { on_closed(reason); }); });
  session->start(connection->peer(), [this](Result<void> outcome) {
    or_break_off([&] { on_started(std::move(outcome)); });
  });
}

void Client::State::on_started(Result<void> outcome) {
  if (finished || phase != Phase::opening) return;
  if (!outcome) {
    why = std::move(outcome).error();
    phase = Phase::closing;
    if (reopens && !skip_probe && session->ended_at_probe()) {
      skip_probe = true;
      options.log.info(
          "the server ended at the question whether it is stateless; trying again "
          "with the handshake");
      return connection->close();  // those who wait lead to the next one
    }
    if (std::exchange(skip_probe, false)) {
      why.message +=
          "; it was tried twice, because the first connection ended at the question "
          "whether the server is stateless";
    }
    if (command && is_timeout(why)) why.message += command->stderr_quote();
    {
      const std::lock_guard lock(mutex);
      facts = {};  // they may be what was wrong
    }
    const Error reason = why;
    connection->close();
    return tell_waiting(reason);
  }
  phase = Phase::ready;
  {
    const std::lock_guard lock(mutex);
    facts = session->verdict();
  }
  begin_listens();
  tell_waiting(&*session);
}

void Client::State::on_closed(const Error& reason) {
  // The reason why the beginning failed says more than that it ended.
  if (phase != Phase::closing) {
    why = Error{.code = rpc::code::connection_closed,
                .message = "the connection is closed (" + reason.message + ")",
                .cause = Cause::not_connected};
  }
  phase = Phase::closed;
  session.reset();
  command = nullptr;
  connection.reset();
  if (finished) return finish();
  if (!waiting.empty()) open();  // they came while it ended
}

void Client::State::tell_waiting(Result<ClientSession*> outcome) {
  for (Work& work : std::exchange(waiting, {})) {
    or_break_off([&] {
      // The work of one may end the connection for the next.
      if (outcome && (phase != Phase::ready || !session)) {
        work(why);
      } else {
        work(outcome);
      }
    });
  }
}

void Client::State::tear_down() {
  finished = true;
  renewal.cancel();
  connector.reset();
  websocket.reset();
  tell_waiting(why);
  for (const auto& [number, entry] : listens) {
    entry->callbacks = {};
    entry->agreed = nullptr;
  }
  if (!connection) return finish();
  if (phase == Phase::closing) return;  // its end is on the way
  phase = Phase::closing;
  connection->close();
}

void Client::State::finish() {
  listens.clear();
  session.reset();
  command = nullptr;
  connection.reset();
  guard.reset();
  loop.stop();
}

// Listening: kept here as well, so that it can be taken up again after a restart.

void Client::State::add_listen(const std::shared_ptr<Renewable>& entry,
                               Function<void(Result<void>)> agreed) {
  const std::uint64_t number = ++last_listen;
  listens.emplace(number, entry);
  entry->agreed = std::move(agreed);  // which has the entry: from now on somebody will take it out
  begin_listen(number, entry);
}

void Client::State::begin_listen(std::uint64_t number, const std::shared_ptr<Renewable>& entry) {
  ListenCallbacks callbacks = entry->callbacks;
  callbacks.acknowledged = [this, entry](const SubscriptionFilter& honoured) {
    or_break_off([&] { listen_acknowledged(*entry, honoured); });
  };
  callbacks.ended = [this, number](Result<void> outcome) {
    or_break_off([&] { listen_ended(number, std::move(outcome)); });
  };
  entry->active = true;
  Listen listen = session->listen(entry->filter, std::move(callbacks));
  if (entry->active) entry->listen = std::move(listen);
}

void Client::State::listen_acknowledged(Renewable& entry, const SubscriptionFilter& honoured) {
  entry.since = steady_clock().now();
  // Before listen() returns, so that whoever called it knows that this is behind them.
  const ListenCallbacks& tell = entry.callbacks;
  constexpr std::string_view complaint = "a callback of listen() threw";
  guarded(complaint, tell.acknowledged, honoured);
  if (std::exchange(entry.broken, false)) {
    if (session) session->forget_answers(honoured);
    if (honoured.toolsListChanged.value_or(false)) guarded(complaint, tell.tools_changed);
    if (honoured.promptsListChanged.value_or(false)) guarded(complaint, tell.prompts_changed);
    if (honoured.resourcesListChanged.value_or(false)) guarded(complaint, tell.resources_changed);
    const std::vector<std::string> none;
    for (const std::string& uri : honoured.resourceSubscriptions.value_or(none)) {
      guarded(complaint, tell.resource_updated, uri);
    }
  }
  if (auto agreed = std::exchange(entry.agreed, nullptr)) agreed({});
}

void Client::State::listen_ended(std::uint64_t number, Result<void> outcome) {
  const auto found = listens.find(number);
  if (found == listens.end()) return;
  const std::shared_ptr<Renewable> entry = found->second;
  entry->active = false;
  bool lost = !session || !session->ready();
  if (!outcome) {
    lost = lost || HttpTransport::is_passing(outcome.error()) ||
           (entry->broken && is_timeout(outcome.error()));
  }
  if (lost && options.restart && !finished && !entry->agreed) {
    const bool held = !entry->broken && steady_clock().now() - entry->since >= long_enough;
    if (held) renewal_pause = shortest_pause;
    entry->broken = true;
    return renew_later();
  }
  listens.erase(found);
  if (auto agreed = std::exchange(entry->agreed, nullptr)) {
    return agreed(outcome ? Result<void>(error("the server ended the subscription at once"))
                          : std::move(outcome));
  }
  guarded("a callback of listen() threw", entry->callbacks.ended, std::move(outcome));
}

void Client::State::listens_broke() noexcept {
  std::uint64_t number = 0;  // what is told may end others
  for (auto at = listens.begin(); at != listens.end(); at = listens.upper_bound(number)) {
    number = at->first;
    or_break_off([&] { listen_ended(number, why); });
  }
}

void Client::State::end_unwanted_listens() {
  std::uint64_t number = 0;  // what ends may call back
  for (auto at = listens.begin(); at != listens.end(); at = listens.upper_bound(number)) {
    number = at->first;
    if (!*at->second->unwanted) continue;
    const auto ended = listens.extract(at);
    ended.mapped()->listen.end();
  }
}

void Client::State::renew_later() {
  if (finished || renewal.active()) return;
  renewal.start(renewal_pause, [this] { renew(); });
  renewal_pause = std::min(renewal_pause * 2, longest_pause);
}

void Client::State::renew() {
  const auto waits = [](const auto& each) { return !each.second->active; };
  if (finished || std::ranges::none_of(listens, waits)) return;
  use([this](Result<ClientSession*> with) {
    if (!with) return renew_later();
    begin_listens();  // which those of a new session have done already
  });
}

void Client::State::begin_listens() {
  const auto again = listens;  // some may end at once
  for (const auto& [number, entry] : again) {
    if (!entry->active && session && session->ready()) begin_listen(number, entry);
  }
}

}  // namespace godwit::inline v0
