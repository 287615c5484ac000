// What a Frame and a Late do for providers, which are asked one after the other.
#include "access.hpp"
#include "frame.hpp"
#include "godwit/rpc/error_code.hpp"
#include "result.hpp"

namespace godwit::inline v0::detail::server {

void aim(Request& request, const Entry& entry) {
  if (entry.kind != EntryKind::resource || !entry.provider) return;
  const auto& resource = static_cast<const ResourceEntry&>(entry);
  request.cache = &resource.cache;
  request.mime_type = &resource.resource.mimeType;
}

std::string_view Frame::called_name() const {
  switch (kind()) {
    case EntryKind::tool:
      return as_tool(*entry_)->tool.name;
    case EntryKind::prompt:
      return static_cast<const PromptEntry&>(*entry_).prompt.name;
    case EntryKind::resource:
      return request_.uri;
    case EntryKind::custom:
    case EntryKind::list:
      break;
  }
  return request_.method;
}

bool Frame::provided_arguments_fit() {
  const auto& schema_of = entry_->provider->options.input_schema;
  if (!schema_of || kind() != EntryKind::tool) return true;
  try {
    const RawJson schema = schema_of(called_name(), facts());
    if (schema.text.empty()) return true;
    const auto compiled = entry_->provider->compile(schema);
    if (!compiled) {
      session_.server().options.log.limited(
          LogLevel::error, "the provider's schema for the tool " + json::quote(called_name()) +
                               " is not usable: " + compiled.error().message);
      refuse(rpc::internal_error("the schema of the tool is not usable"));
      return false;
    }
    const json::Validation validation = (*compiled)->validate(request_.arguments.find("arguments"));
    if (validation.ok()) return true;
    json::DecodeFailure failure;
    failure.fail(validation.text());
    bad_arguments(failure);
  } catch (...) {
    threw(std::current_exception());
  }
  return false;
}

void Frame::page(const ListPage& page) {
  if (suspend()) return;
  if (kind() != EntryKind::list) {
    return refuse(rpc::internal_error("the handler returned a page; this is no list"));
  }
  const ListKind list = static_cast<const ListEntry&>(*entry_).list;
  Server::Impl& server = session_.server();
  if (!append_page(listed_, page, list, server, *server.catalog(), codec(), facts())) {
    return refuse(rpc::internal_error("the provider returned a page of another list"));
  }
  std::optional<std::string> cursor;
  if (const auto& next = next_of(page)) {
    cursor = write_cursor(list, facts(), {.source = entry_->provider->source, .cursor = *next});
  } else if (entry_->next) {
    return ask_next();
  }
  json::Writer& writer = begin();
  write_own_list(writer, list, listed_, cursor);
  const CacheHint cache{.ttl = server.options.cache.ttl};
  end(writer, nullptr, &cache);
}

void Frame::ask_next() {
  if (!entry_->next) return refuse(unknown_name(kind(), called_name()));
  if (late_) return late_->ask_next();
  const std::shared_ptr<const Entry> running = std::exchange(entry_, entry_->next);
  aim(request_, *entry_);
  if (kind() == EntryKind::list) request_.arguments = {};  // the cursor was for the one before
  run(true);
}

void Late::ask_next() {
  session_->post([self = shared_from_this()] {
    std::unique_ptr<Asks> asks = self->frame_->take_asks();
    std::string listed = std::move(self->frame_->listed_);
    self->whole_request();
    if (self->entry_->kind == EntryKind::list) self->request_.arguments = {};
    self->asked_.push_back(std::move(self->frame_));
    self->entry_ = self->entry_->next;
    aim(self->request_, *self->entry_);
    self->frame_ = std::make_unique<Frame>(*self->session_, *self, self->request_, self->entry_);
    self->frame_->set_asks(std::move(asks));
    self->frame_->set_listed(std::move(listed));
    self->frame_->run(true);
  });
}

}  // namespace godwit::inline v0::detail::server
