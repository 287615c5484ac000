#include "dial.hpp"

#include <utility>

namespace godwit::inline v0::http {

namespace {

Error cannot(const Url& url, std::string_view why) {
  return error("cannot connect to " + url.origin() + ": " + std::string(why));
}

}  // namespace

Dial::Dial(Loop& loop, const Limits& limits, Url url, std::optional<Url> proxy,
           std::optional<TlsContext> tls, Duration timeout, Done done)
    : loop_(loop),
      limits_(limits),
      url_(std::move(url)),
      proxy_(std::move(proxy)),
      tls_(std::move(tls)),
      done_(std::move(done)),
      connector_(loop),
      timer_(loop) {
  const Url& to = proxy_ ? *proxy_ : url_;
  timer_.start(timeout, [this] { finish(cannot(url_, "no answer in time")); });
  ConnectOptions options{.timeout = timeout};
  if (!proxy_) options.tls = tls_;
  connector_.tcp(
      Address{.host = to.host, .port = to.port},
      [this](Result<Stream> stream) { on_connected(std::move(stream)); }, std::move(options));
}

Dial::~Dial() {
  if (tunnel_) tunnel_->close();
}

void Dial::on_connected(Result<Stream> stream) {
  if (!stream || !proxy_ || !tls_) return finish(std::move(stream));
  const std::string to =
      (url_.host.find(':') == url_.host.npos ? url_.host : "[" + url_.host + "]") + ":" +
      std::to_string(url_.port);
  wire_ = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n";
  tunnel_ = std::make_shared<Link>(loop_, *std::move(stream), limits_);
  tunnel_->send(*this, "CONNECT", wire_);
}

void Dial::on_head(int status, FieldsView) { status_ = status; }
void Dial::on_body(std::string_view) {}

void Dial::on_done() {
  if (status_ / 100 != 2) {
    return finish(
        cannot(url_, "the proxy " + proxy_->origin() + " answered " + std::to_string(status_)));
  }
  if (!tunnel_->rest().empty()) {
    return finish(cannot(url_, "it talks before it was asked, through the proxy"));
  }
  const auto tunnel = std::exchange(tunnel_, nullptr);
  // The handshake goes on by itself; if it fails, the request does.
  finish(tls_connect(loop_, tunnel->take(), *tls_, url_.host));
}

void Dial::on_broken(Error why) {
  finish(cannot(url_, "the proxy " + proxy_->origin() + " gave up: " + why.message));
}

void Dial::finish(Result<Stream> stream) {
  timer_.cancel();
  if (tunnel_) tunnel_->close();
  Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(stream));
}

}  // namespace godwit::inline v0::http
