// Fetch: one request of an HttpClient: a connection, perhaps another one, and an outcome.
//
// Held by shared_ptr: callbacks of the program may let go of its handle.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "godwit/http/http_client.hpp"
#include "http/dial.hpp"
#include "http/link.hpp"

namespace godwit::inline v0::http {

struct FetchHandle::Fetch final : Link::User, std::enable_shared_from_this<Fetch> {
  Fetch(std::shared_ptr<HttpClient::State> client_, HttpRequest request_, HttpCallbacks callbacks_);
  ~Fetch() { drop(); }

  /// Runs something of this request from the loop. The end of memory is its outcome.
  template <class F>
  void survive(F&& run);
  void begin();
  void start();
  void connect();
  void on_connected(Result<Stream> stream);
  void on_head(int status, FieldsView fields) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_broken(Error why) override;
  /// Where to go instead, if the program wants that and it is allowed.
  std::optional<Url> redirect(int status, const FieldsView& fields) const;
  void follow();
  void finish(Result<void> how);
  void drop() noexcept;
  /// Of the request.
  std::string_view body() const noexcept;

  std::shared_ptr<HttpClient::State> client;
  HttpRequest request;
  HttpCallbacks callbacks;
  bool repeatable;
  std::optional<Proxy> proxy;
  std::string origin;
  std::string wire;
  std::size_t body_size = 0;  // at the end of it
  std::optional<Url> next;    // the answer is a redirect that is followed
  std::size_t redirects = 0;
  std::size_t skipped = 0;
  std::optional<Dial> dial;
  std::shared_ptr<Link> link;
  bool reused = false;
  bool done = false;
};

}  // namespace godwit::inline v0::http
