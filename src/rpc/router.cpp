#include "godwit/rpc/router.hpp"

#include <algorithm>
#include <stdexcept>

namespace godwit::inline v0::rpc {

Router::~Router() = default;

namespace {

/// Middleware without a state.
class PlainLayer final : public detail::Layer {
 public:
  explicit PlainLayer(Middleware functions) : functions_(std::move(functions)) {}
  Verdict before(IncomingCall& call, void*) const override {
    return functions_.before ? functions_.before(call) : Verdict();
  }
  void after(Outcome& outcome, void*) const override {
    if (functions_.after) functions_.after(outcome);
  }

 private:
  Middleware functions_;
};

}  // namespace

Router& Router::use(Middleware middleware) {
  return add_layer(std::make_unique<PlainLayer>(std::move(middleware)));
}

Router& Router::add_layer(std::unique_ptr<detail::Layer> layer) {
  constexpr std::size_t align = alignof(std::max_align_t);
  const std::size_t end = layers_.empty() ? 0 : layers_.back().state_end;
  const std::size_t begin = (end + align - 1) / align * align;
  const std::size_t size = layer->state_size();
  layers_.push_back({.layer = std::move(layer),
                     .state_begin = size > 0 ? begin : end,
                     .state_end = size > 0 ? begin + size : end});
  return *this;
}

const detail::Handler* Router::find(std::string_view method) const {
  const auto found = handlers_.find(method);
  return found != handlers_.end() ? found->second.get() : fallback_.get();
}

std::vector<std::string> Router::methods() const {
  std::vector<std::string> names;
  names.reserve(handlers_.size());
  for (const auto& [name, handler] : handlers_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void Router::check_names(std::size_t names, std::size_t params) {
  if (names == 0 || names == params) return;
  throw std::invalid_argument("godwit: the handler takes " + std::to_string(params) +
                              " parameters, but " + std::to_string(names) + " names were given");
}

Executor& Router::require_executor() const {
  if (executor_) return *executor_;
  throw std::invalid_argument(
      "godwit: a blocking handler needs an executor; give the Router one, e.g. a ThreadPool");
}

Router& Router::add(std::string method, HandlerPtr handler) {
  if (method.starts_with("rpc.")) {
    throw std::invalid_argument(
        "godwit: method names that begin with \"rpc.\" are reserved by "
        "JSON-RPC");
  }
  handlers_.insert_or_assign(std::move(method), std::move(handler));
  return *this;
}

}  // namespace godwit::inline v0::rpc
