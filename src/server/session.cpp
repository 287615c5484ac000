#include "session.hpp"

#include <algorithm>
#include <ranges>

#include "godwit/json/writer.hpp"

namespace godwit::inline v0::detail::server {

namespace {

/// Listens that one client may hold open: more is a mistake or worse.
constexpr std::size_t most_listens = 100;

struct ChangeName {
  unsigned change;
  mcp::Operation operation;
};
constexpr ChangeName change_names[] = {{tools_changed, mcp::Operation::tools_changed},
                                       {prompts_changed, mcp::Operation::prompts_changed},
                                       {resources_changed, mcp::Operation::resources_changed}};

}  // namespace

Session::Session(std::shared_ptr<Server::Impl> server, rpc::Peer& peer, std::shared_ptr<void> user)
    : server_(std::move(server)),
      peer_(peer),
      poster_(peer.poster()),
      user_(std::move(user)),
      kept_(server_->session_bytes, server_->options.limits.session_bytes,
            server_->options.limits.process_session_bytes),
      values_kept_(server_->session_bytes, server_->options.limits.session_bytes,
                   server_->options.limits.process_session_bytes) {
  static const auto nothing = std::make_shared<const ServerCapabilities>();
  promised_ = nothing;
}

Session::~Session() { server_->leave(this); }

bool Session::has_method(std::string_view name) {
  std::shared_ptr<const Entry> entry;
  return catalog()->method(name, entry) != nullptr ||
         catalog()->extension_of(&Extension::methods, name) != nullptr;
}

const std::shared_ptr<const Catalog>& Session::catalog() {
  const std::uint64_t now = server_->version.load(std::memory_order_acquire);
  if (now != catalog_version_) {
    catalog_ = server_->catalog();
    catalog_version_ = now;
  }
  return catalog_;
}

std::shared_ptr<void> Session::state(const std::type_info& type, Exchange::MakeState make) {
  const auto find = [&]() -> std::shared_ptr<void>* {
    if (!states_) return nullptr;
    const auto found = states_->find(type);
    return found == states_->end() ? nullptr : &found->second;
  };
  {
    const std::lock_guard lock(server_->mutex);
    if (const auto* const known = find()) return *known;
  }
  std::shared_ptr<void> made = make();  // code of the program: without the lock
  const std::lock_guard lock(server_->mutex);
  if (const auto* const known = find()) return *known;  // another thread was faster
  if (!states_) states_ = std::make_unique<std::map<std::type_index, std::shared_ptr<void>>>();
  return states_->emplace(type, std::move(made)).first->second;
}

std::optional<Error> Session::begin(const mcp::Codec& codec,
                                    std::shared_ptr<const ServerCapabilities> promised,
                                    Caller caller) {
  // Counted for each session, also where several share one.
  const std::size_t bytes = kept_size(caller);
  if (auto error = kept_.add(bytes)) return error;
  KeptClaim claim(kept_, bytes);
  caller_ = server_->known(std::move(caller));
  claim.keep();
  codec_ = &codec;
  promised_ = std::move(promised);
  set_level(LoggingLevel::info);
  return std::nullopt;
}

std::optional<Error> Session::subscribe(std::string uri) {
  changed();
  if (subscribed_.contains(uri)) return std::nullopt;
  const std::size_t bytes = kept_size(uri);
  if (auto error = kept_.add(bytes)) return error;
  KeptClaim claim(kept_, bytes);
  const std::lock_guard lock(server_->news_mutex);
  subscribed_.insert(std::move(uri));
  claim.keep();
  return std::nullopt;
}

void Session::unsubscribe(const std::string& uri) {
  changed();
  const std::lock_guard lock(server_->news_mutex);
  if (subscribed_.erase(uri) > 0) kept_.remove(kept_size(uri));
}

bool Session::listen(const rpc::Id& id, Listen listen) {
  if (listens_.size() >= most_listens) return false;
  const std::lock_guard lock(server_->news_mutex);
  return listens_.emplace(id, std::move(listen)).second;
}

bool Session::end_listen(const rpc::Id& id) {
  std::unique_lock lock(server_->news_mutex);
  const auto ended = listens_.extract(id);
  lock.unlock();  // before it is destroyed, which waits for its stop callback
  return !ended.empty();
}

void Session::tell_later(unsigned changes) {
  // One message for all changes until the peer's thread comes to it.
  if ((waiting_changes_.fetch_or(changes) & changes) == changes) return;
  poster_([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->tell_changes(self->waiting_changes_.exchange(0), nullptr);
    }
  });
}

void Session::tell_later(unsigned changes, std::shared_ptr<const rpc::Identity> caller) {
  const std::lock_guard lock(server_->news_mutex);
  const auto is_caller = [&](const std::shared_ptr<const rpc::Identity>& identity) {
    return rpc::same_caller(identity.get(), caller.get());
  };
  if (!is_caller(identity_) && std::ranges::none_of(listens_, [&](const auto& listen) {
        return is_caller(listen.second.identity);
      })) {
    return;
  }
  news().add_lists(changes, std::move(caller));
  post_news();
}

void Session::tell_updated_later(const std::string& uri) {
  const std::lock_guard lock(server_->news_mutex);
  if (!subscribed_.contains(uri) && std::ranges::none_of(listens_, [&](const auto& listen) {
        return listen.second.uris.contains(uri);
      })) {
    return;
  }
  news().add_updated(uri);
  post_news();
}

News& Session::news() {
  if (!news_) news_ = std::make_unique<News>();
  return *news_;
}

void Session::post_news() {
  if (news_->posted) return;
  poster_([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->tell_news();
  });
  news_->posted = true;
}

void Session::tell_news() {
  std::unique_ptr<News> news;
  {
    const std::lock_guard lock(server_->news_mutex);
    news.swap(news_);
  }
  if (!news) return;
  const auto tell = [&](const auto& one) {
    try {
      one();
    } catch (...) {  // the rest is told all the same
      server_->options.log.caught("a client could not be told of a change");
    }
  };
  for (const News::OfCaller& one : news->of_callers) {
    tell([&] { tell_changes(one.lists, one.caller.get()); });
  }
  for (const std::string& uri : news->updated) tell([&] { tell_updated(uri); });
}

bool Session::promised(unsigned change) const {
  switch (change) {
    case tools_changed:
      return promised_->tools.has_value();
    case prompts_changed:
      return promised_->prompts.has_value();
    default:
      return promised_->resources.has_value();
  }
}

template <class F>
void Session::for_each_listen(F&& each) {
  if (listens_.empty()) return;
  std::vector<rpc::Id> ids;
  ids.reserve(listens_.size());
  for (const auto& [id, listen] : listens_) ids.push_back(id);
  for (const rpc::Id& id : ids) {
    const auto found = listens_.find(id);
    if (found != listens_.end() && !poster_.closed()) each(found->second);
  }
}

void Session::tell_changes(unsigned changes, const rpc::Identity* caller) {
  const auto concerns = [&](const std::shared_ptr<const rpc::Identity>& identity) {
    return !caller || rpc::same_caller(identity.get(), caller);
  };
  for (const ChangeName& change : change_names) {
    if (!(changes & change.change)) continue;
    if (codec_ && initialized_ && promised(change.change) && concerns(identity_)) {
      notify(change.operation, nullptr, {});
    }
    for_each_listen([&](const Listen& listen) {
      if (listen.changes & change.change && concerns(listen.identity))
        notify(change.operation, &listen, {});
    });
  }
}

void Session::tell_updated(const std::string& uri) {
  using enum mcp::Operation;
  if (codec_ && initialized_ && subscribed_.contains(uri)) notify(resource_updated, nullptr, uri);
  for_each_listen([&](const Listen& listen) {
    if (listen.uris.contains(uri)) notify(resource_updated, &listen, uri);
  });
}

void Session::tell_filtered(const std::string& filter, const std::string& value,
                            const std::string& method, const RawJson& params) {
  for_each_listen([&](const Listen& listen) {
    const auto found = listen.others.find(filter);
    if (found == listen.others.end() || !found->second.contains(value)) return;
    std::string tagged =
        R"({"_meta":{)" + json::quote(listen.codec->subscription_key()) + ":" + listen.id + "}";
    const std::string_view rest = std::string_view(params.text).substr(1);
    if (!rest.starts_with('}')) tagged += ',';
    tagged += rest;
    peer_.notify(method, RawJson{std::move(tagged)}, listen.route);
  });
}

void Session::notify(mcp::Operation operation, const Listen* listen, std::string_view uri) {
  if (poster_.closed()) return;
  const mcp::Codec& codec = listen ? *listen->codec : *codec_;
  std::string params;
  json::Writer writer(params);
  writer.begin_object();
  if (listen) {
    writer.key("_meta");
    writer.begin_object();
    writer.key(codec.subscription_key());
    writer.raw(listen->id);
    writer.end_object();
  }
  if (!uri.empty()) {
    writer.key("uri");
    writer.value(uri);
  }
  writer.end_object();
  const rpc::Route route = listen ? listen->route : 0;
  if (params == "{}") {
    peer_.notify(codec.name_of(operation), rpc::no_params, route);
  } else {
    peer_.notify(codec.name_of(operation), RawJson{std::move(params)}, route);
  }
}

}  // namespace godwit::inline v0::detail::server
