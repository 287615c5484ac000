#include "godwit/http/http_client.hpp"

#include <utility>

#include "http/fetch.hpp"
#include "http/http_client_state.hpp"

namespace godwit::inline v0::http {

FetchHandle::FetchHandle(std::shared_ptr<Fetch> fetch) noexcept : fetch_(std::move(fetch)) {}

FetchHandle& FetchHandle::operator=(FetchHandle&& other) noexcept {
  if (this != &other) {
    cancel();
    fetch_ = std::move(other.fetch_);
  }
  return *this;
}

void FetchHandle::cancel() noexcept {
  if (const auto fetch = std::exchange(fetch_, nullptr)) fetch->drop();
}

bool FetchHandle::active() const noexcept { return fetch_ && !fetch_->done; }

std::string_view FetchHandle::body() const noexcept {
  return fetch_ ? fetch_->body() : std::string_view();
}

HttpClient::HttpClient(Loop& loop, HttpClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

HttpClient::~HttpClient() {
  if (state_) state_->close();
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;

HttpClient& HttpClient::operator=(HttpClient&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

FetchHandle HttpClient::fetch(HttpRequest request, HttpCallbacks callbacks) {
  auto fetch =
      std::make_shared<FetchHandle::Fetch>(state_, std::move(request), std::move(callbacks));
  state_->loop.post([weak = std::weak_ptr(fetch)] {
    const auto self = weak.lock();
    if (self && !self->done) self->begin();
  });
  return FetchHandle(std::move(fetch));
}

FetchHandle HttpClient::fetch_whole(HttpRequest request, Function<void(Result<Response>)> done,
                                    FetchBounds bounds) {
  FetchHandle handle = fetch(std::move(request), {});
  handle.fetch_->begin_whole(bounds, std::move(done));
  return handle;
}

void HttpClient::close_idle() { state_->close_idle(); }

std::size_t HttpClient::idle() const noexcept {
  std::size_t count = 0;
  for (const auto& [origin, links] : state_->idle) count += links.size();
  return count;
}

}  // namespace godwit::inline v0::http
