// InputRequired: the explicit way to ask. A handler returns it with its questions and a state of
// its own, and is called again with the answers (Context::answer) and the state (Context::state).
// The state travels sealed where it leaves the process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/server/context.hpp"

namespace godwit::inline v0 {

class GODWIT_API InputRequired {
 public:
  InputRequired() = default;

  template <class T>
  InputRequired& form(std::string key, std::string message) {
    detail::server::Question question{.kind = detail::server::Question::Kind::form};
    question.elicit.message = std::move(message);
    question.elicit.requestedSchema = form_schema<T>();
    return add(std::move(key), std::move(question));
  }
  InputRequired& form(std::string key, std::string message, RawJson schema);
  InputRequired& url(std::string key, std::string message, std::string url);
  InputRequired& sample(std::string key, SamplingRequest request);
  InputRequired& roots(std::string key);
  InputRequired& state(std::string state) {
    state_ = std::move(state);
    return *this;
  }

  const std::vector<std::pair<std::string, detail::server::Question>>& questions() const noexcept {
    return questions_;
  }
  const std::string& state() const noexcept { return state_; }

 private:
  InputRequired& add(std::string key, detail::server::Question question) {
    questions_.emplace_back(std::move(key), std::move(question));
    return *this;
  }

  std::vector<std::pair<std::string, detail::server::Question>> questions_;
  std::string state_;
};

}  // namespace godwit::inline v0
