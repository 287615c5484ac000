#include "post.hpp"

#include <algorithm>
#include <utility>

#include "godwit/http/response.hpp"
#include "godwit/json/document.hpp"
#include "godwit/json/writer.hpp"
#include "mcp/carrier_error.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "transport_impl.hpp"
#include "wire.hpp"

namespace godwit::inline v0::detail::web {

namespace {

/// Attempts in a row to come back to a stream, without a single event.
constexpr unsigned most_attempts = 5;
/// How long a stream may stay open after the last answer; ended properly it can be used again.
constexpr Duration linger_time = std::chrono::seconds(2);
/// Of a body that is shown to a person.
constexpr std::size_t most_shown = 200;

/// Why a redirect is not followed.
std::string_view why_not(const Received& received, const http::Url& from) {
  if (received.status != 307 && received.status != 308) {
    return ", which is not followed: only 307 and 308 keep the request as it is";
  }
  const auto to = from.resolve(received.location);
  if (!to) return ", which is no address to follow";
  return to->origin() == from.origin() ? ", and did so too often (Limits::http_redirects)"
                                       : ", which is another origin and is not followed";
}

std::string sentence(const Received& received, const http::Url& from) {
  std::string out = "HTTP " + std::to_string(received.status) + " " +
                    std::string(http::reason_of(received.status));
  if (received.status / 100 == 3 && !received.location.empty()) {
    out += ": the server redirects to " + from.describe(received.location);
    out += why_not(received, from);
    out += "; connect to that address if it is the right one";
  } else if (!received.coding.empty()) {
    out += ", with a body that cannot be read (Content-Encoding: " + received.coding + ")";
  } else if (!received.body.empty()) {
    out += ": " + json::quote(std::string_view(received.body).substr(0, most_shown));
  }
  return out;
}

}  // namespace

std::optional<Error> error_of(json::View message) {
  const json::View object = message.find("error");
  const auto code = object.find("code").as_int64();
  const auto text = object.find("message").as_string();
  if (!code || !text) return std::nullopt;
  return Error{.code = *code,
               .message = std::string(*text),
               .data = std::string(object.find("data").source()),
               .cause = Cause::peer};
}

Post::Post(HttpTransport::Impl& core, Outgoing message, rpc::MessageFields fields)
    : Reception(core),
      message_(std::move(message)),
      fields_(std::move(fields)),
      waiting_(message_.ids) {}

void Post::start() {
  http::HttpRequest request;
  request.method = "POST";
  request.url = core_.target();
  request.fields = core_.fields_for(message_, fields_);
  request.body = std::move(message_.body);
  request.repeatable = message_.repeatable();
  in_session_ = request.fields.find(mcp::header::session).has_value();
  resuming_ = false;
  started_ = true;
  send(std::move(request));
}

void Post::settle(const rpc::Id& id) {
  std::erase(waiting_, id);
  if (!waiting_.empty()) return;
  if (!active()) return core_.finished(*this);
  core_.release(*this);
  linger();
}

void Post::linger() {
  after(linger_time, [this] {
    const auto self = shared_from_this();
    drop();
    core_.finished(*this);
  });
}

void Post::fail(const Error& why) {
  const auto self = shared_from_this();
  const auto core = core_.shared_from_this();
  drop();
  const std::vector<rpc::Id> ids = waiting_;
  for (const rpc::Id& id : ids) core_.answer(id, why);
  core_.finished(*this);
}

void Post::fail(std::string why, int status) {
  fail(mcp::carrier_error(std::move(why), {.status = status}));
}

void Post::fail(Delivered what, std::string_view text) {
  const std::string revision = core_.revision.empty() ? message_.revision : core_.revision;
  fail("the server answered " + json::quote(message_.method) + " with " +
           (what == Delivered::no_json ? "something that is no JSON"
            : what == Delivered::batch
                ? "a batch, which " + (revision.empty() ? "does not belong here"
                                                        : "is not part of revision " + revision)
                : "something that is no answer to it") +
           ": " + json::quote(text.substr(0, most_shown)),
       status_);
}

void Post::on_head(int status, const http::FieldsView& fields) {
  status_ = status;
  core_.sent(*this);
  if (message_.ids.empty()) linger();
  if (status / 100 != 2) {
    // To an older server it goes by another way.
    if (message_.is(mcp::Operation::initialize)) message_.body = sent_body();
    return;
  }
  if (message_.is(mcp::Operation::initialize)) core_.begin_session(fields);
  if (message_.is(mcp::Operation::initialized)) core_.greeted(true);
}

bool Post::on_event(const http::SseEvent& event) {
  if (!is_message(event)) return false;
  const Delivered what = core_.deliver(event.data, this);
  if (what != Delivered::taken && what != Delivered::unwanted && wants_answer()) {
    fail(what, event.data);
  }
  return what == Delivered::taken;
}

void Post::hold(bool held) {
  if (std::exchange(held_, held) == held) return;
  const std::vector<rpc::Id> ids = waiting_;
  for (const rpc::Id& id : ids) {
    if (core_.phase == HttpTransport::Impl::Phase::open && core_.receiver) {
      core_.receiver->on_held(id, held);
    }
  }
}

void Post::on_held(bool held) {
  hold(held);
  core_.held(*this);
}

void Post::on_done(const Received& received) {
  core_.sent(*this);
  if (message_.ids.empty()) return told(received);
  if (!wants_answer()) return core_.finished(*this);
  if (received.not_authorized()) return fail(received.how.error());
  if (received.status == 0 || !received.how) return broken(received);
  if (!received.accepted()) return take_refusal(received);
  if (received.is_stream()) return broken(received);
  answered(received);
}

void Post::session_ended() {
  const auto core = core_.shared_from_this();
  core_.session_ended();
  // A stream that cannot be resumed belongs to a request that the server had begun.
  fail(resuming_ ? mcp::carrier_error(core_.lost->message) : *core_.lost);
}

/// The end of a message that wants no answer.
void Post::told(const Received& received) {
  if (received.status == 404 && in_session_) return session_ended();
  if (received.accepted()) return core_.finished(*this);
  const bool is_answer = message_.method.empty();
  if (received.status == 0 && is_answer && fruitless() < most_attempts) {
    // The server waits for it, and somebody here for the server. Twice does no harm.
    message_.body = sent_body();
    return later([this] {
      const auto self = shared_from_this();
      start();
    });
  }
  const std::string why = "the server did not take " +
                          (is_answer ? std::string("an answer") : json::quote(message_.method)) +
                          ": " +
                          (received.not_authorized() ? received.how.error().message
                           : received.status         ? sentence(received, core_.target())
                           : received.how            ? std::string("no answer")
                                                     : received.how.error().message);
  core_.options.log.warning(why);
  // Without the end of the handshake, or what it waits for, the server keeps silent for ever:
  // better begin anew.
  const bool waits_for_it = is_answer || message_.is(mcp::Operation::initialized);
  if (waits_for_it && received.status == 0) core_.lose_session(why);
  core_.finished(*this);
}

void Post::answered(const Received& received) {
  if (core_.over_sse()) return;  // the answer comes by the other stream
  if (received.type != json_type) {
    return fail("the server answered " + json::quote(message_.method) + " with " +
                    sentence(received, core_.target()) + " of type " + json::quote(received.type) +
                    "; expected was application/json or text/event-stream",
                received.status);
  }
  const Delivered what = core_.deliver(received.body, this);
  if (!wants_answer()) return core_.finished(*this);
  fail(what, received.body);
}

void Post::take_refusal(const Received& received) {
  const int status = received.status;
  if (status == 404 && in_session_) return session_ended();
  json::Document document;
  const auto body = document.parse(received.body, core_.parse_options);
  std::optional<Error> said = body ? error_of(*body) : std::nullopt;
  if (resuming_) {
    if (status >= 500) return resume();
    return fail("the answer to " + json::quote(message_.method) +
                    " is lost: the stream broke, and " + "the server refused to resume it with " +
                    sentence(received, core_.target()),
                status);
  }
  // Who may not ask is told so in the words of HTTP, which say more than a code of JSON-RPC.
  const bool forbidden = status == 401 || status == 403;
  Error why = said && !forbidden
                  ? *std::move(said)
                  : mcp::carrier_error("the server refused " + json::quote(message_.method) +
                                           " with " + sentence(received, core_.target()),
                                       {.status = status});
  // What a server that is busy or ill says in its own words still shows that it is.
  if (why.data.empty() && (status == 429 || status >= 500)) {
    why.data = mcp::carrier_error({}, {.status = status}).data;
    why.cause = Cause::carrier;
  }
  const bool unknown = status == 400 || status == 404 || status == 405;
  if (message_.is(mcp::Operation::initialize) && unknown && !core_.over_sse()) {
    return core_.try_sse(*this, std::move(why));
  }
  fail(why);
}

/// The connection ended before the answer came.
void Post::broken(const Received& received) {
  if (received.broken_off) {
    return fail(
        "no answer to " + json::quote(message_.method) + ": " + received.how.error().message,
        received.status);
  }
  if (!message_.stateless() && resumable()) return resume();
  if (received.how) {
    return fail("the server ended the stream without an answer to " + json::quote(message_.method));
  }
  Error why = mcp::carrier_error("no answer to " + json::quote(message_.method) + ": " +
                                 received.how.error().message);
  // A second attempt after a broken stream says nothing about the first.
  if (!resuming_ && is_not_executed(received.how.error())) why.cause = Cause::not_connected;
  fail(why);
}

void Post::resume() {
  resuming_ = true;
  if (fruitless() >= most_attempts) {
    return fail("the answer to " + json::quote(message_.method) +
                " is lost: the stream broke, and " + std::to_string(most_attempts) +
                " attempts to resume it brought nothing");
  }
  later([this] {
    const auto self = shared_from_this();
    http::HttpRequest request = core_.get();
    in_session_ = request.fields.find(mcp::header::session).has_value();
    request.fields.set("Last-Event-ID", last_id());
    send(std::move(request));
  });
}

}  // namespace godwit::inline v0::detail::web
