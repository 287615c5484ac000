#include "session_saver.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "godwit/base/rollback.hpp"
#include "godwit/json/value.hpp"
#include "godwit/json/writer.hpp"
#include "godwit/rpc/error_code.hpp"
#include "http_session.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

Error not_saved() {
  Error error = rpc::internal_error(
      "busy: the session could not be saved, so this was not done for good; "
      "try again later");
  error.http =
      std::make_shared<HttpError>(HttpError{.status = 503, .fields = {{"Retry-After", "1"}}});
  return error;
}

void write_error(json::Writer& writer, std::string_view id, const Error& error) {
  writer.begin_object();
  writer.key("jsonrpc");
  writer.value("2.0");
  writer.key("id");
  writer.raw(id.empty() ? "null" : id);
  writer.key("error");
  writer.begin_object();
  writer.key("code");
  writer.value(error.code);
  writer.key("message");
  writer.value(error.message);
  writer.end_object();
  writer.end_object();
}

/// The same error for everything that this text answers.
std::string errors_for(const Utterance& what, const Error& error) {
  std::string out;
  json::Writer writer(out);
  const auto answers = what.answers.empty() ? json::parse(what.text) : Result<json::Value>();
  if (!what.answers.empty() || !answers || !answers->is_array()) {
    write_error(writer, what.answers, error);
    return out;
  }
  writer.begin_array();
  for (const json::Value& answer : answers->get<json::Array>()) {
    write_error(writer, answer.contains("id") ? answer["id"].dump() : "", error);
  }
  writer.end_array();
  return out;
}

}  // namespace

bool SessionSaver::must_hold() const noexcept { return busy() || session_.changes() != noted_; }

bool SessionSaver::holds_answer(rpc::Route route) const noexcept {
  return std::ranges::any_of(held_, [&](const Held& held) {
    return held.what.route == route && held.what.kind != Utterance::Kind::message;
  });
}

void SessionSaver::set_restored() noexcept {
  noted_ = session_.changes();
  stored_ = saved_ = true;
}

void SessionSaver::stop() noexcept {
  call_.reset();
  held_.clear();
  held_bytes_ = 0;
}

void SessionSaver::hold(Utterance what) {
  const bool too_much = held_bytes_ > endpoint_.limits.unkept_bytes;
  const std::uint64_t state = session_.changes();
  const std::size_t size = what.text.size();
  held_.push_back({.what = std::move(what), .state = state, .changed = state != noted_});
  held_bytes_ += size;
  noted_ = state;
  Rollback failed([&] {
    if (!held_.empty() && !call_) session_.fail();  // nobody would come back to the rest
  });
  if (too_much && call_) {
    call_.reset();
    under_way_ = state;
    settle(error("too much waits for it"));
  }
  if (!call_ && !asking_) save();
  failed.dismiss();
}

void SessionSaver::save() {
  while (!held_.empty() && !session_.over()) {
    const std::optional<Result<void>> outcome = ask();
    if (!outcome) return;
    settle(*outcome);
  }
}

std::optional<Result<void>> SessionSaver::ask() {
  under_way_ = session_.changes();
  const Result<std::string> state = session_.state();
  if (!state) return state.error();
  StoreCall<void> call;
  stored_ = true;
  asking_ = true;
  const bool over =
      call.ask(endpoint_.log, endpoint_.ready, session_.ready_place(), [&](Done<void> done) {
        endpoint_.options.sessions->save(session_.id(), endpoint_.options.name, *state,
                                         std::move(done));
      });
  asking_ = false;
  if (over || session_.over()) return call.over() ? call.take() : Result<void>();
  call_ = std::move(call);
  since_ = endpoint_.clock->now();
  session_.await_store();
  return std::nullopt;
}

void SessionSaver::settle(const Result<void>& outcome) {
  if (outcome) {
    saved_ = true;
  } else {
    log_failure(endpoint_.log, "the state of a session could not be saved", outcome.error());
  }
  while (!held_.empty() && held_.front().state <= under_way_ && !session_.over()) {
    std::list<Held> next;
    next.splice(next.begin(), held_, held_.begin());
    held_bytes_ -= next.front().what.text.size();
    if (outcome || !next.front().changed) {
      session_.say(std::move(next.front().what));
    } else {
      refuse(std::move(next.front().what));
    }
  }
  if (session_.over()) return stop();
  if (!saved_) session_.never_began();
}

void SessionSaver::refuse(Utterance what) {
  if (what.error) return session_.say(std::move(what));  // which says no anyway
  const Error error = not_saved();
  if (what.kind == Utterance::Kind::message) {
    if (what.ids.empty()) return session_.say(std::move(what));
    for (const rpc::Id& id : what.ids) session_.peer().on_failure(id, error);
    return;
  }
  what.text = errors_for(what, error);
  what.kind = Utterance::Kind::answer;
  what.error = error;
  session_.say(std::move(what));
}

void SessionSaver::look_at_store() {
  if (!call_ || !call_->over()) return;
  const Result<void> outcome = call_->take();
  call_.reset();
  settle(outcome);
  save();
}

std::optional<TimePoint> SessionSaver::expire(TimePoint now) {
  if (!call_) return std::nullopt;
  const TimePoint due = since_ + endpoint_.limits.store_time;
  if (due > now) return due;
  call_.reset();
  settle(or_out_of_memory([] { return error("it has not answered in time"); }));
  save();
  return call_ ? std::optional(since_ + endpoint_.limits.store_time) : std::nullopt;
}

}  // namespace godwit::inline v0::detail::web
