// Dial: makes the connection for a request: to the server or to a proxy, and through a proxy to the
// server where what follows is TLS.
//
// Destroying it gives the attempt up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/tls.hpp"
#include "http/link.hpp"

namespace godwit::inline v0::http {

class Dial final : private Link::User {
 public:
  using Done = Function<void(Result<Stream> connection)>;

  /// `done` is called once, from the loop; the Dial may be destroyed in it.
  /// With `tls`, what is given is a TLS connection to the server of the URL.
  Dial(Loop& loop, const Limits& limits, Url url, std::optional<Url> proxy,
       std::optional<TlsContext> tls, Duration timeout, Done done);
  ~Dial();

 private:
  void on_connected(Result<Stream> stream);
  void on_head(int status, FieldsView fields) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_broken(Error why) override;

  void finish(Result<Stream> stream);

  Loop& loop_;
  Limits limits_;
  Url url_;
  std::optional<Url> proxy_;
  std::optional<TlsContext> tls_;
  Done done_;
  Connector connector_;
  Timer timer_;
  std::string wire_;
  std::shared_ptr<Link> tunnel_;
  int status_ = 0;
};

}  // namespace godwit::inline v0::http
