// Dial: makes a connection to the server of a URL, through a proxy where there is one; or to the
// proxy itself, which relays plain requests.
//
// Destroying it gives the attempt up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/function.hpp"
#include "godwit/base/limits.hpp"
#include "godwit/base/result.hpp"
#include "godwit/http/proxies.hpp"
#include "godwit/http/url.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "http/link.hpp"

namespace godwit::inline v0::http {

struct DialOptions {
  std::optional<Proxy> proxy{};
  /// With `tls`, what is given is a TLS connection to the server of the URL.
  ConnectOptions connect{};
  /// Through a proxy to the server also where what follows is not TLS.
  bool tunnel = false;
  Limits limits{};
};

class GODWIT_API Dial final : private Link::User {
 public:
  using Done = Function<void(Result<Stream> connection)>;

  /// `done` is called once, from the loop; the Dial may be destroyed in it.
  Dial(Loop& loop, Url url, DialOptions options, Done done);
  ~Dial();

 private:
  void on_connected(Result<Stream> stream);
  void open_tunnel(Stream stream);
  Result<Stream> through_tunnel();
  std::string_view request_text() const noexcept override { return wire_; }
  void on_head(int status, FieldsView fields) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_broken(Error why) override;

  void fail(std::string_view why);
  void finish(Result<Stream> stream);

  Loop& loop_;
  Url url_;
  DialOptions options_;
  Done done_;
  Connector connector_;
  Timer timer_;
  std::string wire_;
  std::shared_ptr<Link> tunnel_;
  int status_ = 0;
};

}  // namespace godwit::inline v0::http
