#include "godwit/http/owned_request.hpp"

#include <utility>

namespace godwit::inline v0::http {

namespace {

constexpr std::size_t spare = 64;

}  // namespace

OwnedRequest::OwnedRequest(const Request& request) : view_(request) {
  std::size_t size = request.method.size() + request.target.size() + request.peer.size() +
                     request.local.size() + request.body.size() + spare;
  for (const Field& field : request.fields) size += field.name.size() + field.value.size();
  text_.reserve(size);
  const auto keep = [&](std::string_view& part) {
    const std::size_t at = text_.size();
    text_.append(part);
    part = std::string_view(text_.data() + at, part.size());
  };
  keep(view_.method);
  keep(view_.target);
  keep(view_.peer);
  keep(view_.local);
  fields_.reserve(request.fields.size());
  for (Field field : request.fields) {
    keep(field.name);
    keep(field.value);
    fields_.push_back(field);
  }
  keep(view_.body);
  text_.append(spare, '\0');
  view_.spare = spare;
  view_.fields = FieldsView(fields_);
  if (request.admitted) {
    admitted_ = *request.admitted;
    view_.admitted = &admitted_;
  }
}

void OwnedRequest::set(Outcome outcome) {
  view_.access_checked = true;
  if (outcome.kind != Outcome::Kind::admitted) return;
  admitted_ = std::move(outcome.admitted);
  view_.admitted = &admitted_;
}

std::size_t OwnedRequest::size() const noexcept {
  return sizeof *this + text_.capacity() + fields_.capacity() * sizeof(Field);
}

}  // namespace godwit::inline v0::http
