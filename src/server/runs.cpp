#include "runs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frame.hpp"
#include "godwit/base/rollback.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/encode.hpp"
#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::detail::server {

namespace {

// As it is saved.
struct SavedRun {
  rpc::Id id{};
  rpc::Route route = 0;
  std::string method{};
  std::optional<RawJson> params{};
  std::optional<rpc::Identity> identity{};
  RawJson asks{};
  std::vector<OpenQuestion> questions{};
  std::optional<double> progress{};
  std::int64_t used_ms = 0;
};
struct SavedRuns {
  /// Requests that the server has sent so far: the next one must not have a name of these.
  std::uint64_t calls = 0;
  std::vector<SavedRun> waiting{};
};

std::string message_of(const SavedRun& run) {
  std::string text =
      R"({"jsonrpc":"2.0","id":)" + run.id.text() + R"(,"method":)" + json::quote(run.method);
  if (run.params) text += R"(,"params":)" + run.params->text;
  return text + "}";
}

}  // namespace

RestoredRun::RestoredRun() = default;
RestoredRun::~RestoredRun() = default;
RestoredRun::RestoredRun(RestoredRun&&) noexcept = default;

Runs::Runs() = default;
Runs::~Runs() = default;

void Runs::put(const rpc::Id& id, RestoredRun run) { restored_.emplace(id, std::move(run)); }

std::optional<RestoredRun> Runs::take(const std::optional<rpc::Id>& id) {
  auto found = id ? restored_.extract(*id) : decltype(restored_)::node_type();
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

void Session::save_runs(json::Writer& writer) const {
  SavedRuns saved{.calls = peer_.calls_made()};
  static const std::set<Late*> none;
  for (Late* const late : runs_ ? runs_->waiting() : none) {
    const rpc::detail::InFlight& request = late->request();
    if (!request.id() || request.in_batch() || !request.wanted()) continue;
    SavedRun run{.id = *request.id(),
                 .route = request.route(),
                 .method = std::string(request.method()),
                 .asks = RawJson{late->frame().saved_asks()},
                 .questions = late->open_questions(),
                 .used_ms = late->used_ms()};
    if (std::string params = late->params(); !params.empty()) {
      run.params = RawJson{std::move(params)};
    }
    if (const auto& identity = request.facts().identity) run.identity = *identity;
    if (const double progress = late->frame().last_progress();
        progress != std::numeric_limits<double>::lowest()) {
      run.progress = progress;
    }
    saved.waiting.push_back(std::move(run));
  }
  json::write(writer, saved);
}

std::vector<rpc::Route> Session::saved_routes() const {
  std::vector<rpc::Route> routes;
  if (!runs_) return routes;
  for (Late* const late : runs_->waiting()) routes.push_back(late->request().route());
  return routes;
}

Result<void> Session::restore_runs(json::View saved_runs) {
  Result<SavedRuns> saved = json::decode<SavedRuns>(saved_runs);
  if (!saved) return error("the saved runs are not of this server: " + saved.error().message);
  // Everything is read before anything changes.
  std::vector<RestoredRun> restored_runs;
  for (const SavedRun& run : saved->waiting) {
    Result<Asks> asks = Asks::load(run.asks.text, 0);
    if (!asks) return error("a saved run is not of this server: " + asks.error().message);
    const auto is_asked = [&](const OpenQuestion& question) {
      return std::ranges::any_of(
          asks->pending, [&](const WireQuestion& pending) { return pending.key == question.key; });
    };
    if (run.id.is_null() || !std::ranges::all_of(run.questions, is_asked)) {
      return error("a saved run is not of this server: it waits for what it has not asked");
    }
    RestoredRun restored;
    restored.asks = std::make_unique<Asks>(*std::move(asks));
    restored.questions = run.questions;
    if (run.progress && std::isfinite(*run.progress)) restored.progress = *run.progress;
    restored.time_used = std::chrono::milliseconds(std::clamp<std::int64_t>(
        run.used_ms, 0, std::chrono::milliseconds(std::chrono::hours(24 * 365)).count()));
    restored_runs.push_back(std::move(restored));
  }
  peer_.set_calls_made(std::max(peer_.calls_made(), saved->calls));
  const auto alive = shared_from_this();
  for (std::size_t i = 0; i < restored_runs.size(); ++i) {
    const SavedRun& run = saved->waiting[i];
    if (poster_.closed()) break;  // what the last one answered has ended the connection
    // The request comes once more, and goes its usual way as far as its handler.
    const std::size_t before = peer_.in_flight();
    runs().put(run.id, std::move(restored_runs[i]));
    rpc::Facts facts;
    if (run.identity) facts.identity = std::make_shared<const rpc::Identity>(*run.identity);
    peer_.receive(message_of(run), 0, facts, run.route);
    // Unless middleware holds it, it waits now, or was refused on the way.
    if (!poster_.closed() && peer_.in_flight() == before) runs().take(run.id);
  }
  return {};
}

// Waiting for what another server has asked.

void Frame::resume(RestoredRun run) {
  asks_ = std::move(run.asks);
  last_progress_ = run.progress;
  if (const std::shared_ptr<Late> late = leave_stack()) late->resume(run);
}

std::string Frame::saved_asks() const {
  return asks_->save(std::numeric_limits<std::int64_t>::max());
}

void Late::resume(const RestoredRun& run) {
  stop_timer();
  time_used_ = run.time_used;
  const std::vector<WireQuestion> pending = frame_->asks_->pending;
  outstanding_ = run.questions.size();
  if (outstanding_ == 0) return session_->post([self = shared_from_this()] { self->run_again(); });
  Rollback unasked([&] { Cancel{this}(); });
  for (const OpenQuestion& open : run.questions) {
    if (session_->poster().closed()) return;
    const auto question = std::ranges::find(pending, open.key, &WireQuestion::key);
    open_.push_back(open);
    const rpc::CallHandle call = session_->peer().expect_answer<RawJson>(
        open.id, open.method,
        [self = shared_from_this(), question = *question](Result<RawJson> outcome) {
          self->answered(question, std::move(outcome));
        },
        {.timeout = session_->server().options.ask_timeout, .route = in_flight_->route()});
    if (call.number != 0) waiting_.push_back(call);
  }
  begin_being_asked();
  unasked.dismiss();
}

std::string Late::params() const {
  return params_.empty() ? std::string(request_.params.source()) : params_;
}

std::int64_t Late::used_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time_used_).count();
}

}  // namespace godwit::inline v0::detail::server
