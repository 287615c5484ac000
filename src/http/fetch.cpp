#include "fetch.hpp"

#include <new>
#include <utility>

#include "godwit/base/version.hpp"
#include "http/http_client_state.hpp"
#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

/// Of the body of a redirect, which nobody reads: more, and the connection is not used again.
constexpr std::size_t most_skipped = 64u << 10;

bool is_repeatable(const HttpRequest& request) {
  return request.repeatable.value_or(request.method != "POST" && request.method != "PATCH" &&
                                     request.method != "CONNECT");
}

bool is_own_field(std::string_view name) {
  return same_name(name, "Host") || same_name(name, "Content-Length") ||
         same_name(name, "Transfer-Encoding") || same_name(name, "Connection");
}

/// A Url may have been put together by hand.
std::optional<Error> mistake(const HttpRequest& request) {
  std::string_view host;
  std::string_view port;
  if (!is_token(request.method)) return error("the method of a request must be a token");
  if (request.url.scheme != "http" && request.url.scheme != "https") {
    return error("a request needs an address that begins with http:// or https://");
  }
  const std::string authority = request.url.authority();
  if (!split_authority(authority, host, port) || !request.url.target.starts_with('/') ||
      !all_of_class(request.url.target, target_char)) {
    return error("the address of a request is not valid: " + shown(request.url.text()));
  }
  return std::nullopt;
}

/// `given` are fields of an authorizer, `relay` is the proxy that the request is handed to, if it
/// is.
std::string wire_of(const HttpRequest& request, const Fields* given, const Proxy* relay) {
  const bool body = !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
                    request.method == "PATCH";
  std::string out = request.method;
  out += ' ';
  out += relay ? request.url.text() : request.url.target;
  out += " HTTP/1.1\r\nHost: " + request.url.authority() + "\r\n";
  Fields fields;
  for (const auto& [name, value] : request.fields) {
    // A password for a proxy is for nobody else.
    if (!relay && same_name(name, "Proxy-Authorization")) continue;
    if (given && given->find(name)) continue;
    if (!is_own_field(name)) fields.add(name, value);
  }
  if (given) {
    for (const auto& [name, value] : *given) fields.add(name, value);
  }
  if (!fields.find("User-Agent")) fields.add("User-Agent", "godwit/" + std::string(version()));
  if (relay && !relay->authorization.empty()) {
    fields.set("Proxy-Authorization", relay->authorization);
  }
  if (body) fields.add("Content-Length", std::to_string(request.body.size()));
  fields.write(out);
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace

FetchHandle::Fetch::Fetch(std::shared_ptr<HttpClient::State> client_, HttpRequest request_,
                          HttpCallbacks callbacks_)
    : client(std::move(client_)),
      request(std::move(request_)),
      callbacks(std::move(callbacks_)),
      repeatable(is_repeatable(request)) {}

void FetchHandle::Fetch::begin() {
  run_step(*this, [&] { start(); });
}

void FetchHandle::Fetch::begin_whole(FetchBounds bounds, Function<void(Result<Response>)> take) {
  whole = std::make_unique<Whole>(Whole{.bounds = bounds, .timer = Timer(client->loop)});
  whole->take = std::move(take);
  whole->left = bounds.time;
  hold_whole(false);
}

void FetchHandle::Fetch::hold_whole(bool held) {
  if (held) {
    whole->timer.cancel();
    whole->left = std::max(whole->end - HttpClient::State::now(), Duration(0));
    return;
  }
  const TimePoint now = HttpClient::State::now();
  whole->end = whole->left < TimePoint::max() - now ? now + whole->left : TimePoint::max();
  whole->timer.start(whole->left, [this] {
    const auto self = shared_from_this();
    run_step(*this, [&] {
      fail(Error{.message = request.url.origin() + ": the response did not end within " +
                            seconds_text(whole->bounds.time),
                 .cause = Cause::timeout});
    });
  });
}

void FetchHandle::Fetch::start() {
  if (auto wrong = mistake(request)) return finish(*std::move(wrong));
  Result<std::optional<Proxy>> found = client->proxies.find(request.url);
  if (!found) return finish(std::move(found).error());
  proxy = *std::move(found);
  if (request.authorizer) return ask_fields();
  transmit();
}

void FetchHandle::Fetch::transmit() {
  const Proxy* const relay = proxy && !request.url.secure() ? &*proxy : nullptr;
  origin = relay ? "via " + relay->url.origin() : request.url.origin();
  wire = wire_of(request, authorization ? &authorization->given : nullptr, relay);
  body_size = request.body.size();
  request.body = {};
  link = std::exchange(anew, false) ? nullptr : client->take(origin, repeatable);
  if (!link) return connect();
  reused = true;
  link->send(*this, request.method);
}

void FetchHandle::Fetch::connect() {
  reused = false;
  std::optional<TlsContext> tls;
  if (request.url.secure()) {
    Result<TlsContext> found = client->secure();
    if (!found) return finish(std::move(found).error());
    tls = *std::move(found);
  }
  DialOptions to{.proxy = proxy,
                 .connect = {.timeout = client->options.connect_timeout, .tls = std::move(tls)},
                 .limits = client->options.limits};
  dial.emplace(client->loop, request.url, std::move(to), [this](Result<Stream> stream) {
    run_step(*this, [&] { on_connected(std::move(stream)); });
  });
}

void FetchHandle::Fetch::on_connected(Result<Stream> stream) {
  if (!stream) return finish(std::move(stream).error());
  link = std::make_shared<Link>(client->loop, *std::move(stream), client->options.limits);
  link->send(*this, request.method);
}

void FetchHandle::Fetch::on_head(int status, FieldsView fields) {
  const auto self = shared_from_this();
  next = redirect(status, fields);
  skipped = 0;
  if (authorization && is_for_authorizer(status, fields)) return;
  if (!next && !done) deliver_head(status, fields);
}

void FetchHandle::Fetch::deliver_head(int status, FieldsView fields) {
  if (whole) {
    whole->response.status = status;
    whole->response.fields = kept(fields);
  } else if (callbacks.on_head) {
    callbacks.on_head(status, fields);
  }
}

void FetchHandle::Fetch::deliver_body(std::string_view piece) {
  if (!whole) {
    if (callbacks.on_body) callbacks.on_body(piece);
    return;
  }
  if (piece.size() > whole->bounds.body_bytes - whole->response.body.size()) {
    return fail(error(request.url.origin() + ": the body of the response has more than " +
                      std::to_string(whole->bounds.body_bytes) +
                      " bytes, which is the bound for this document"));
  }
  whole->response.body += piece;
}

void FetchHandle::Fetch::on_body(std::string_view piece) {
  const auto self = shared_from_this();
  if (authorization && authorization->refusal) return run_step(*this, [&] { take_refusal(piece); });
  if (!next) return deliver_body(piece);
  skipped += piece.size();
  if (skipped <= most_skipped) return;
  std::exchange(link, nullptr)->close();
  run_step(*this, [&] { follow(); });
}

std::optional<Url> FetchHandle::Fetch::redirect(int status, const FieldsView& fields) const {
  const Limits& limits = client->options.limits;
  if (!request.follow_redirects || (status != 307 && status != 308)) return std::nullopt;
  if (redirects >= limits.http_redirects || fields.count("Location") != 1) return std::nullopt;
  const std::string_view location = *fields.find("Location");
  if (location.size() > limits.uri_bytes) return std::nullopt;
  Result<Url> to = request.url.resolve(location);
  if (!to || to->origin() != request.url.origin()) return std::nullopt;
  return *std::move(to);
}

void FetchHandle::Fetch::follow() {
  ++redirects;
  request.url = *std::exchange(next, std::nullopt);
  repeat();
}

void FetchHandle::Fetch::repeat() {
  std::string again(body());
  request.body = std::move(again);
  wire = {};
  start();
}

std::string_view FetchHandle::Fetch::body() const noexcept {
  if (wire.empty()) return request.body;  // it has not started yet
  return std::string_view(wire).substr(wire.size() - body_size);
}

void FetchHandle::Fetch::on_done() {
  const auto self = shared_from_this();
  const std::shared_ptr<Link> used = std::exchange(link, nullptr);
  if (used->reusable()) {
    client->put(origin, used);
  } else {
    used->close();
  }
  if (authorization && authorization->refusal) return run_step(*this, [&] { decide(); });
  if (next) return run_step(*this, [&] { follow(); });
  finish({});
}

void FetchHandle::Fetch::on_broken(Error why) {
  const auto self = shared_from_this();
  const std::shared_ptr<Link> used = std::exchange(link, nullptr);
  if (reused && !used->heard() && (repeatable || !used->sent())) {
    return run_step(*this, [&] {
      if (!authorization) return connect();
      anew = true;  // a proof of the authorizer may be good for one request only
      repeat();
    });
  }
  if (authorization && authorization->refusal) return run_step(*this, [&] { decide(); });
  try {
    why.message = request.url.origin() + ": " + why.message;
  } catch (const std::bad_alloc&) {  // which is told as it is, then
  }
  finish(std::move(why));
}

void FetchHandle::Fetch::finish(Result<void> how) {
  if (std::exchange(done, true)) return;
  // Taken out first: they may hold what holds this.
  HttpCallbacks last = std::exchange(callbacks, {});
  if (whole) {
    const std::unique_ptr<Whole> gathered = std::move(whole);
    if (!how) return gathered->take(std::move(how).error());
    gathered->take(std::move(gathered->response));
  } else if (last.on_end) {
    last.on_end(std::move(how));
  }
}

void FetchHandle::Fetch::fail(Error why) {
  if (link) std::exchange(link, nullptr)->close();
  dial.reset();
  authorization.reset();
  finish(std::move(why));
}

void FetchHandle::Fetch::drop() noexcept {
  done = true;
  if (link) link->close();
  link = nullptr;
  dial.reset();
  if (authorization) {
    authorization->fields.drop();
    authorization->decision.drop();
  }
  if (whole) whole->timer.cancel();
}

}  // namespace godwit::inline v0::http
