#include "relay.hpp"

#include <charconv>

#include "wire.hpp"

namespace godwit::inline v0::detail::web {

SessionPlaces::Where ThreadPlaces::find(std::string_view session) const {
  std::size_t owner = 0;
  if (session.size() < 2) return {};
  const auto [end, error] = std::from_chars(session.data(), session.data() + 2, owner, 16);
  if (error != std::errc() || end != session.data() + 2) return {};
  if (any_id_) owner %= group_->members.size();
  if (owner >= group_->members.size()) return {};
  return {.kind = owner == here_ ? Kind::here : Kind::elsewhere, .place = owner};
}

void ThreadPlaces::deliver(std::uint64_t place, const http::Request& request,
                           http::Exchange& exchange) {
  Relay::send(group_, here_, static_cast<std::size_t>(place), request, exchange);
}

Relay::Relay(std::shared_ptr<EndpointGroup> group, std::size_t from, std::size_t to,
             const http::Request& request)
    : group_(std::move(group)),
      here_(group_->members[from]),
      there_(group_->members[to]),
      request_(std::make_unique<const http::OwnedRequest>(request)),
      look_here_(*here_.loop, [this] { look_here(); }),
      look_there_(*there_.loop, [this] { look_there(); }) {}

void Relay::send(const std::shared_ptr<EndpointGroup>& group, std::size_t from, std::size_t to,
                 const http::Request& request, http::Exchange& exchange) {
  const auto relay = std::make_shared<Relay>(group, from, to, request);
  relay->here_.endpoint->relays.insert(relay);
  relay->exchange_ = &exchange;
  exchange.set_owner(relay.get());
  relay->wake_there();
}

void Relay::wake_here() noexcept { look_here_.signal(shared_from_this()); }
void Relay::wake_there() noexcept { look_there_.signal(shared_from_this()); }

// There.

void Relay::look_there() {
  Endpoint::Impl* const endpoint = there_.endpoint;
  if (!endpoint || over_) return;  // the loop runs on after the server
  const Endpoint::Impl::Entered entered(*endpoint);
  if (gone_.load()) {
    over_ = true;
    if (http::Exchange::Owner* const owner = std::exchange(owner_, nullptr)) owner->on_gone();
    return;
  }
  try {
    if (const auto request = std::move(request_)) return endpoint->handle(request->view(), *this);
    if (drained_.exchange(false) && owner_) owner_->on_drained();
  } catch (...) {
    endpoint->log.caught("a request failed");
    http::Exchange::Owner* const owner = owner_;
    finish(Said::End::failed);
    if (owner) owner->on_gone();
  }
}

void Relay::finish(Said::End how) noexcept {
  if (std::exchange(over_, true)) return;
  owner_ = nullptr;
  {
    const std::lock_guard lock(mutex_);
    said_.end = how;
  }
  wake_here();
}

void Relay::respond(int status, std::string_view type, std::string_view body,
                    const http::Fields& more) {
  if (over_) return;
  Said all{.head = Said::Head::whole,
           .status = status,
           .type = std::string(type),
           .bytes = std::string(body),
           .more = more};
  {
    const std::lock_guard lock(mutex_);
    said_ = std::move(all);
  }
  finish(Said::End::done);
}

void Relay::begin(int status, std::string_view type, const http::Fields& more) {
  if (over_) return;
  Said head{.head = Said::Head::stream, .status = status, .type = std::string(type), .more = more};
  {
    const std::lock_guard lock(mutex_);
    said_ = std::move(head);
  }
  wake_here();
}

void Relay::write(std::string_view piece) {
  if (over_) return;
  {
    const std::lock_guard lock(mutex_);
    said_.bytes += piece;
  }
  under_way_.fetch_add(piece.size());
  wake_here();
}

void Relay::end() { finish(Said::End::done); }
void Relay::abort() { finish(Said::End::broken_off); }

std::size_t Relay::unsent() const noexcept {
  if (under_way_.load() + waiting_.load() == 0) return 0;
  awaited_.store(true);  // before looking again, so that the other thread cannot miss it
  return under_way_.load() + waiting_.load();
}

// Here.

void Relay::look_here() {
  Said said;
  {
    const std::lock_guard lock(mutex_);
    std::swap(said, said_);
  }
  if (!exchange_) return;
  http::Exchange& exchange = *exchange_;
  if (said.end != Said::End::none) {
    exchange_ = nullptr;
    here_.endpoint->relays.erase(shared_from_this());
  }
  try {
    pass_on(exchange, said);
  } catch (...) {
    here_.endpoint->log.caught("an answer could not be sent");
    exchange.abort();
    if (exchange_) on_gone();
  }
}

void Relay::pass_on(http::Exchange& exchange, const Said& said) {
  if (said.end == Said::End::broken_off) return exchange.abort();
  if (said.head == Said::Head::whole) {
    return exchange.respond(said.status, said.type, said.bytes, said.more);
  }
  if (said.head == Said::Head::stream) {
    exchange.begin(said.status, said.type, said.more);
    streaming_ = true;
  }
  if (!said.bytes.empty()) {
    if (!keeps_up(exchange, here_.endpoint->limits)) {
      here_.endpoint->log.limited(LogLevel::warning,
                                  "a client does not read its stream; the connection is closed");
      exchange.abort();
      return exchange_ ? on_gone() : void();
    }
    exchange.write(said.bytes);
    waiting_.store(exchange.unsent());
    under_way_.fetch_sub(said.bytes.size());
    if (waiting_.load() == 0) on_drained();
  }
  if (said.end == Said::End::done) exchange.end();
  if (said.end == Said::End::failed) {
    streaming_ ? exchange.abort() : exchange.respond(500, {}, {});
  }
}

void Relay::abandon() {
  if (http::Exchange* const exchange = std::exchange(exchange_, nullptr)) exchange->abort();
}

void Relay::on_drained() {
  waiting_.store(0);
  if (under_way_.load() > 0 || !awaited_.exchange(false)) return;
  drained_.store(true);
  wake_there();
}

void Relay::on_gone() {
  exchange_ = nullptr;
  const auto self = shared_from_this();
  here_.endpoint->relays.erase(self);
  gone_.store(true);
  wake_there();
}

}  // namespace godwit::inline v0::detail::web
