#include "dial.hpp"

#include <new>
#include <utility>

namespace godwit::inline v0::http {

namespace {

Error cannot(const Url& url, std::string_view why) {
  return Error{.message = "cannot connect to " + url.origin() + ": " + std::string(why),
               .cause = Cause::not_connected};
}

/// What `make` gives, or that there is no memory for it.
template <class Make>
Result<Stream> outcome_of(Make&& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return Error{.message = "out of memory", .cause = Cause::not_connected};
  }
}

}  // namespace

Dial::Dial(Loop& loop, Url url, DialOptions options, Done done)
    : loop_(loop),
      url_(std::move(url)),
      options_(std::move(options)),
      done_(std::move(done)),
      connector_(loop),
      timer_(loop) {
  const Url& to = options_.proxy ? options_.proxy->url : url_;
  const Duration timeout = options_.connect.timeout;
  timer_.start(timeout, [this] { fail("no answer in time"); });
  connector_.tcp(
      Address{.host = to.host, .port = to.port},
      [this](Result<Stream> stream) { on_connected(std::move(stream)); },
      options_.proxy ? ConnectOptions{.timeout = timeout} : options_.connect);
}

Dial::~Dial() {
  if (tunnel_) tunnel_->close();
}

void Dial::on_connected(Result<Stream> stream) {
  const bool tunnel = options_.tunnel || options_.connect.tls;
  if (!stream || !options_.proxy || !tunnel) return finish(std::move(stream));
  try {
    open_tunnel(*std::move(stream));
  } catch (const std::bad_alloc&) {
    fail("out of memory");
  }
}

void Dial::open_tunnel(Stream stream) {
  const std::string to =
      (url_.host.find(':') == url_.host.npos ? url_.host : "[" + url_.host + "]") + ":" +
      std::to_string(url_.port);
  wire_ = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
  if (const std::string& authorization = options_.proxy->authorization; !authorization.empty()) {
    wire_ += "Proxy-Authorization: " + authorization + "\r\n";
  }
  wire_ += "\r\n";
  tunnel_ = std::make_shared<Link>(loop_, std::move(stream), options_.limits);
  tunnel_->send(*this, "CONNECT");
}

void Dial::on_head(int status, FieldsView) { status_ = status; }
void Dial::on_body(std::string_view) {}

void Dial::on_done() {
  finish(outcome_of([&] { return through_tunnel(); }));
}

Result<Stream> Dial::through_tunnel() {
  if (status_ / 100 != 2) {
    return cannot(
        url_, "the proxy " + options_.proxy->url.origin() + " answered " + std::to_string(status_));
  }
  if (!tunnel_->rest().empty()) {
    return cannot(url_, "it talks before it was asked, through the proxy");
  }
  const auto tunnel = std::exchange(tunnel_, nullptr);
  if (!options_.connect.tls) return tunnel->take();
  // The handshake goes on by itself; if it fails, the request does.
  const std::string& name = options_.connect.server_name;
  return tls_connect(loop_, tunnel->take(), *options_.connect.tls, name.empty() ? url_.host : name);
}

void Dial::on_broken(Error why) {
  finish(outcome_of([&]() -> Result<Stream> {
    return cannot(url_, "the proxy " + options_.proxy->url.origin() + " gave up: " + why.message);
  }));
}

void Dial::fail(std::string_view why) {
  finish(outcome_of([&]() -> Result<Stream> { return cannot(url_, why); }));
}

void Dial::finish(Result<Stream> stream) {
  timer_.cancel();
  if (tunnel_) tunnel_->close();
  Done done = std::exchange(done_, nullptr);
  if (done) done(std::move(stream));
}

}  // namespace godwit::inline v0::http
