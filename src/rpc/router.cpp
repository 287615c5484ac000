#include "godwit/rpc/router.hpp"

#include <algorithm>
#include <stdexcept>

namespace godwit::inline v0::rpc {

void Outcome::set_result(std::string json) {
  replacement_ = std::move(json);
  result_ = replacement_;
  failed_ = false;
  changed_ = true;
}

void Outcome::set_error(Error error) {
  error_ = std::move(error);
  failed_ = true;
  changed_ = true;
}

Router::~Router() = default;

Router& Router::use(Middleware middleware) {
  middleware_.push_back(std::move(middleware));
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
