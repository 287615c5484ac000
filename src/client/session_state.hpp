// The inside of a ClientSession: what it knows of the server, the exchanges that wait, the channels
// that listen. All of it on the peer's thread.
//
// Callbacks of the program may do anything, also destroy the session. So whoever runs one of them
// holds a shared_ptr to this, and looks things up again afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "godwit/client/client_session.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/rpc/handler.hpp"
#include "mcp/era/codec.hpp"
#include "mcp/era/eras.hpp"
#include "mcp/era/tool_param_headers.hpp"
#include "questions.hpp"
#include "response_cache.hpp"
#include "tool_schemas.hpp"

namespace godwit::inline v0 {

namespace detail::client {

/// The result of a call as a view, which is good while the callback runs.
struct ResultView {
  json::View view{};
};

/// Gets the complete result of an exchange; the view is good during the call only.
using ViewDone = Function<void(Result<json::View>)>;

using SharedText = std::shared_ptr<const std::string>;

/// The params of a request, without what each round and the era add.
struct RequestParams {
  /// As JSON, without braces.
  std::string members{};
  /// The member of that name, as JSON; null if there is none. Shared, because it may be large and
  /// may have to be sent again.
  SharedText arguments{};
  /// The tool, prompt or address that is asked for, which may have to be said beside the message.
  std::optional<std::string> name{};

  bool empty() const noexcept { return members.empty() && !arguments; }
};

/// Moves a deadline by time that somebody on this side took.
inline void put_off(TimePoint& end, Duration time) noexcept {
  end = time < TimePoint::max() - end ? end + time : TimePoint::max();
}

/// One request of the program, over all the rounds that it takes.
struct Exchange {
  std::uint64_t number = 0;
  /// Nothing for methods that only the program knows.
  std::optional<mcp::Operation> operation{};
  std::string method{};
  RequestParams params{};
  RequestOptions options{};
  ViewDone done{};
  /// The answer may be kept, and one that was kept be given.
  bool may_be_cached = false;
  /// It has been sent a second time, with fields for what the tools are now.
  bool is_repeated = false;

  rpc::CallHandle call{};    // while the server works
  rpc::TimerHandle pause{};  // before a round without questions
  TimePoint hard_end{};
  /// Of several exchanges that this one is a part of; null if it stands alone.
  std::shared_ptr<TimePoint> whole_end{};
  TimePoint held_since{};  // while the carrier holds the call up
  std::optional<double> last_progress{};

  unsigned rounds = 0;
  std::string state{};  // requestState as JSON text; empty if none was sent
  bool asked = false;   // inputRequests was sent
  std::vector<std::pair<std::string, std::string>> answers{};  // JSON by key
  std::size_t unanswered = 0;
  TimePoint asked_at{};
  std::stop_source stop{};
  std::shared_ptr<Exchange> next{};  // in a list of those that end together
};

/// The params of one round of a request, written when it is sent.
struct RoundParams {
  const Exchange& exchange;
  const std::string& meta;  // members of _meta, as JSON without braces

  bool empty() const noexcept {
    return exchange.params.empty() && !exchange.asked && exchange.state.empty() && meta.empty();
  }
  void write(json::Writer& writer) const;
};

/// Somebody who listens.
struct Channel {
  std::uint64_t number = 0;
  SubscriptionFilter wanted{};
  SubscriptionFilter honoured{};
  ListenCallbacks callbacks{};
  bool acknowledged = false;
  std::size_t subscribing = 0;  // answers that are missing, where each resource is subscribed to
  // Where one call is open as long as the channel lasts.
  bool by_call = false;
  std::optional<rpc::Id> id{};  // names the subscription
  rpc::CallHandle call{};
  rpc::TimerHandle patience{};  // for the acknowledgement
  Duration patience_left{};     // while the carrier holds the call up
};

}  // namespace detail::client

/// Shared because calls that are under way have it until they are told their outcome.
struct ClientSession::State : std::enable_shared_from_this<ClientSession::State> {
  using ViewDone = detail::client::ViewDone;
  using ExchangePtr = std::shared_ptr<detail::client::Exchange>;
  using ChannelPtr = std::shared_ptr<detail::client::Channel>;
  enum class Phase : std::uint8_t { idle, starting, ready, failed, ended };

  explicit State(ClientOptions options_);

  // The host.

  void start(rpc::Peer& to, Function<void(Result<void>)> done);
  /// No answer can come any more.
  void peer_ended(const Error& reason) noexcept;
  /// A call is given up: the server should know.
  void abandoned(const rpc::Id& id, const Error& reason);
  /// A call is held up by what carries it, or goes on; 0 is one of the start. Its deadlines, which
  /// are for the server, wait meanwhile.
  void held(std::uint64_t number, bool held) noexcept;
  void start_held(bool held);
  void exchange_held(detail::client::Exchange& exchange, bool held);
  void channel_held(const ChannelPtr& channel, bool held);
  /// `why`, or what of it can be said without memory.
  Error reason_of_end() const noexcept;
  /// The session is being destroyed.
  void shut_down() noexcept;

  // Beginning (lifecycle.cpp).

  /// As the options say and what is known of the server.
  void begin_start();
  void probe(const mcp::Codec& with, unsigned tries);
  void on_probe(const mcp::Codec& with, unsigned tries, Result<detail::client::ResultView> outcome);
  void initialize(std::string_view revision);
  void on_initialize(const mcp::Codec& offer, Result<detail::client::ResultView> outcome);
  /// Why what a server says about itself is too much to be kept.
  std::optional<Error> too_long(json::View description) const;
  void adopt(mcp::Welcome found);
  /// What is known of the server.
  Verdict verdict() const;
  /// Something that is no message, which a server seldom sends.
  void take_garbage(std::string_view text);
  /// The start has to be over by then, unless it had to be sooner.
  void limit_start(Duration within);
  void limit_start(Duration left, Duration within);
  /// What the server left unanswered, for an error of start().
  std::string unanswered() const;
  template <class F>
  void or_fail_start(F&& step);
  void fail_start(Error error) noexcept;
  /// With what the server sent instead of messages.
  Error quoting_garbage(Error error) const noexcept;
  void finish_start(Result<void> outcome) noexcept;

  // Exchanges (exchange.cpp).

  /// `again` is the number of an exchange that this one continues, `whole_end` the deadline of all
  /// of them.
  ClientCall ask(mcp::Operation operation, detail::client::RequestParams params,
                 RequestOptions options, ViewDone done, std::uint64_t again = 0,
                 std::shared_ptr<TimePoint> whole_end = {});
  ClientCall ask_method(std::string_view method, RawJson params, RequestOptions options,
                        ViewDone done);
  bool cancel(std::uint64_t number, std::string_view reason);
  /// What fulfils a wish of the program; `early` before it is known what is spoken: whoever asks
  /// for it is told that nothing can be sent.
  std::optional<mcp::Operation> message_for(mcp::Wish wish, mcp::Operation early) const noexcept {
    return codec ? codec->message_for(wish) : early;
  }
  /// Why nothing can be sent now, or for this operation.
  std::optional<Error> refusal(std::string_view method) const;
  std::optional<Error> missing_capability(mcp::Operation operation) const;

  /// Whether a tool may be offered to the program. Over HTTP not every schema will do.
  bool can_call(const std::string& tool, json::View input_schema);
  /// Keeps the output schemas of these tools, to check results with; `all`: there are no others.
  void keep_schemas(const std::vector<Tool>& tools, bool all) noexcept;

  ClientCall begin(ExchangePtr exchange);
  /// Without the memory to send it, the exchange is over.
  void send_round(const ExchangePtr& exchange);
  void send_call(const ExchangePtr& exchange);
  void on_outcome(std::uint64_t number, Result<detail::client::ResultView> outcome);
  void begin_round(const ExchangePtr& exchange, json::View result);
  /// Fetches the list of tools, because what is known of them is outdated, and sends the call of
  /// one again. The server has not executed it.
  void send_with_new_fields(const ExchangePtr& exchange);
  void on_answer(std::uint64_t number, unsigned round, std::size_t index,
                 Result<std::string> answer);
  void finish(const ExchangePtr& exchange, Result<json::View> outcome) noexcept;
  std::string meta_of(const detail::client::Exchange& exchange) const;
  /// The fields that repeat what a request says.
  rpc::MessageFields fields_beside(const mcp::Codec& in, std::string_view method) const;
  rpc::MessageFields fields_of(const detail::client::Exchange& exchange) const;

  // Questions of the server (questions.cpp).

  /// Reads and judges a question without asking anybody.
  Result<detail::client::Question> read_question(mcp::Operation operation, json::View params) const;
  /// Asks the program. `done` gets the JSON of the answer on the peer's thread.
  void ask_program(detail::client::Question question, std::stop_token stop,
                   Function<void(Result<std::string>)> done);
  Result<std::string> answer_form(const ElicitRequest& request, ElicitResult result) const;

  // What comes from the server on its own (incoming.cpp).

  void receive(rpc::detail::Call& call);
  void receive_request(rpc::detail::Call& call, const mcp::Method* row);
  /// One that must not be answered, not even with an error.
  void ignore_request(rpc::detail::Call& call);
  void receive_notification(rpc::detail::Call& call, const mcp::Method* row);
  std::optional<Error> take_notification(mcp::Operation operation, json::View params);
  std::optional<Error> take_acknowledgement(json::View params);
  void take_progress(const Progress& progress);
  void take_cancelled(json::View params);

  // Listening (channels.cpp).

  Listen listen(SubscriptionFilter filter, ListenCallbacks callbacks);
  void open_by_call(const ChannelPtr& channel, mcp::Operation request);
  /// How long the server may take to acknowledge it.
  void limit_patience(const ChannelPtr& channel, Duration left);
  void open_by_resources(const ChannelPtr& channel);
  void on_subscribed(std::uint64_t number, const std::string& uri, bool good);
  void watch(const ChannelPtr& channel, const std::string& uri);
  void unwatch(const std::string& uri);
  /// The owner's handle is gone.
  void end_channel(std::uint64_t number) noexcept;
  /// All handles are, or the session itself.
  void channels_end_silently() noexcept;
  /// It ended by itself.
  void lose_channel(const ChannelPtr& channel, Result<void> outcome) noexcept;
  /// Takes back the call of a channel that is over.
  void cancel_channel(detail::client::Channel& channel, std::string_view reason) noexcept;
  /// The server agreed on what is honoured.
  void acknowledge(const ChannelPtr& channel);
  ChannelPtr channel_of(json::View subscription);
  /// Tells those who listen; true if the session's own callback should hear of it, too.
  bool tell_change(mcp::Operation operation, json::View params, const std::string& uri);

  /// Runs a callback of the program; what it throws goes to the log, behind this complaint.
  template <class F, class... Args>
  void run(std::string_view complaint, F& function, Args&&... args) noexcept {
    try {
      if (function) function(std::forward<Args>(args)...);
    } catch (...) {
      options.log.caught(complaint);
    }
  }
  TimePoint now() const { return peer ? peer->options().clock->now() : TimePoint(); }
  Duration timeout_of(const RequestOptions& request) const {
    return request.timeout.value_or(options.limits.call_timeout);
  }

  ClientOptions options;
  ClientCapabilities capabilities;  // as declared
  rpc::Peer* peer = nullptr;        // null before start() and after the end
  bool has_fields = false;          // beside the messages of the peer
  Phase phase = Phase::idle;
  Error why{};  // of failed and ended
  Function<void(Result<void>)> started{};
  std::string probe_problem{};    // why the server is not taken for a stateless one
  bool probe_unanswered = false;  // it was asked, and did not say a word
  rpc::TimerHandle start_end{};
  Duration start_within{};               // as it was set
  std::optional<Duration> start_left{};  // while the carrier holds it up
  std::string garbage{};                 // what it sent instead of messages, to be quoted
  std::size_t garbage_lines = 0;

  const mcp::Eras& eras = mcp::Eras::built_in();
  const mcp::Codec* codec = nullptr;  // null before the start is over
  bool shook_hands = false;           // the session began with a handshake
  mcp::Welcome welcome{};
  std::string introduction{};  // for the _meta of every request, where it wants one
  std::optional<LoggingLevel> log_level{};

  std::uint64_t last_number = 0;
  std::unordered_map<std::uint64_t, ExchangePtr> exchanges;
  std::unordered_map<std::uint64_t, ChannelPtr> channels;
  std::unordered_map<std::string, std::size_t> watched;  // by how many channels
  bool quiet = false;                                    // a call that the server itself ended

  detail::client::ResponseCache cache;
  detail::client::ToolSchemas schemas;
  mcp::ToolParamHeaders param_headers;
  std::unordered_set<std::string> refused_tools;  // about which the log knows, as far as kept
};

}  // namespace godwit::inline v0

template <>
struct godwit::json::Codec<godwit::detail::client::ResultView> {
  static bool read(View view, godwit::detail::client::ResultView& out, DecodeFailure&) {
    out.view = view;
    return true;
  }
};

template <>
struct godwit::json::Codec<godwit::detail::client::RoundParams> {
  static void write(Writer& writer, const godwit::detail::client::RoundParams& params) {
    params.write(writer);
  }
};
