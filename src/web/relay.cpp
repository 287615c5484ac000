#include "relay.hpp"

namespace godwit::inline v0::detail {

namespace {

constexpr std::size_t spare = 64;

}  // namespace

OwnedRequest::OwnedRequest(const http::Request& request) : view_(request) {
  std::size_t size = request.method.size() + request.target.size() + request.peer.size() +
                     request.body.size() + spare;
  for (const http::Field& field : request.fields) size += field.name.size() + field.value.size();
  text_.reserve(size);
  const auto keep = [&](std::string_view& part) {
    const std::size_t at = text_.size();
    text_.append(part);
    part = std::string_view(text_.data() + at, part.size());
  };
  keep(view_.method);
  keep(view_.target);
  keep(view_.peer);
  for (http::Field field : request.fields) {
    keep(field.name);
    keep(field.value);
    fields_.push_back(field);
  }
  keep(view_.body);
  text_.append(spare, '\0');
  view_.spare = spare;
  view_.fields = http::FieldsView(fields_);
}

void Relay::send(const std::shared_ptr<EndpointGroup>& group, std::size_t from, std::size_t to,
                 const http::Request& request, http::Exchange& exchange) {
  auto relay = std::make_shared<Relay>(group, from, to);
  relay->exchange_ = &exchange;
  exchange.set_owner(relay.get());
  relay->here_.endpoint->relays.insert(relay);
  auto copy = std::make_shared<OwnedRequest>(request);
  relay->there_.post([relay, copy] {
    Endpoint::Impl* const endpoint = relay->there_.endpoint;
    if (!endpoint) return;     // the loop runs on after the server
    if (relay->over_) return;  // the client went away meanwhile
    ++endpoint->depth;
    endpoint->handle(copy->view(), *relay);
    --endpoint->depth;
    endpoint->settle();
  });
}

template <class F>
void Relay::back(F&& work, bool last) {
  if (over_) return;
  if (last) {
    over_ = true;
    owner_ = nullptr;
  }
  here_.post([self = shared_from_this(), work = std::forward<F>(work), last]() mutable {
    if (!self->exchange_) return;
    http::Exchange& exchange = *self->exchange_;
    if (last) self->exchange_ = nullptr;
    work(exchange);
    if (last) self->here_.endpoint->relays.erase(self);
  });
}

void Relay::respond(int status, std::string_view type, std::string_view body,
                    const http::Fields& more) {
  back([status, type = std::string(type), body = std::string(body),
        more](http::Exchange& exchange) { exchange.respond(status, type, body, more); },
       true);
}

void Relay::begin(int status, std::string_view type, const http::Fields& more) {
  back([status, type = std::string(type),
        more](http::Exchange& exchange) { exchange.begin(status, type, more); },
       false);
}

void Relay::write(std::string_view piece) {
  under_way_.fetch_add(piece.size());
  back(
      [this, piece = std::string(piece)](http::Exchange& exchange) {
        under_way_.fetch_sub(piece.size());
        pass_on(exchange, piece);
      },
      false);
}

void Relay::pass_on(http::Exchange& exchange, std::string_view piece) {
  if (exchange.unsent() <= here_.endpoint->limits.output_queue_bytes * 4) {
    return exchange.write(piece);
  }
  here_.endpoint->log.warning("a client does not read its stream; the connection is closed");
  exchange.abort();
  on_gone();
}

void Relay::end() {
  back([](http::Exchange& exchange) { exchange.end(); }, true);
}

void Relay::abort() {
  back([](http::Exchange& exchange) { exchange.abort(); }, true);
}

void Relay::abandon() {
  if (http::Exchange* const exchange = std::exchange(exchange_, nullptr)) exchange->abort();
}

void Relay::on_gone() {
  exchange_ = nullptr;
  const auto self = shared_from_this();
  here_.endpoint->relays.erase(self);
  there_.post([self] {
    if (std::exchange(self->over_, true)) return;
    if (http::Exchange::Owner* const owner = std::exchange(self->owner_, nullptr)) {
      owner->on_gone();
      self->there_.endpoint->settle();
    }
  });
}

}  // namespace godwit::inline v0::detail
