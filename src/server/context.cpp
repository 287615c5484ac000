#include "godwit/server/context.hpp"

#include "godwit/server/input_required.hpp"
#include "godwit/server/work.hpp"

namespace godwit::inline v0 {

namespace detail::server {

Exchange::~Exchange() = default;
Work::~Work() = default;
LateWork::~LateWork() = default;
WorkHandler::~WorkHandler() = default;

Result<FilledForm> read_filled_form(json::Document& document, std::string_view answer) {
  struct Acted {
    ElicitAction action{};
  };
  const Result<json::View> root = document.parse(answer);
  if (!root) return root.error();
  const Result<Acted> acted = json::decode<Acted>(*root);
  if (!acted) return acted.error();
  FilledForm form{.action = acted->action, .content = root->find("content")};
  if (form.action != ElicitAction::accept) return form;
  if (form.content && !form.content.is_null()) {
    if (form.content.is_object()) return form;
    return error("/content: expected an object, got " +
                 std::string(json::to_string(form.content.type())));
  }
  // Nothing had to be filled in.
  form.content = *document.parse("{}");
  return form;
}

RawJson reduce_to_form(json::Value schema) {
  json::Value form = json::Object{{"type", "object"}, {"properties", json::Object{}}};
  if (json::Object* properties = schema["properties"].as_object()) {
    for (json::Member& member : *properties) {
      member.value.erase("pattern");
      form["properties"][member.key] = std::move(member.value);
    }
  }
  if (schema.contains("required")) form["required"] = json::Value(schema["required"]);
  return RawJson{form.dump()};
}

}  // namespace detail::server

TraceContext Context::trace() const {
  const json::View meta = exchange_->meta();
  const auto text = [&](std::string_view name) {
    return std::string(meta.find(name).as_string().value_or(""));
  };
  return {.traceparent = text("traceparent"),
          .tracestate = text("tracestate"),
          .baggage = text("baggage")};
}

Result<ElicitAction> Context::ask(UrlAsk url) {
  detail::server::Question question{.kind = detail::server::Question::Kind::url};
  question.elicit.mode = ElicitRequest::Mode::url;
  question.elicit.message = std::move(url.message);
  question.elicit.url = std::move(url.url);
  const Result<std::string_view> answer = exchange_->ask(url.key, std::move(question));
  if (!answer) return answer.error();
  const Result<ElicitResult> result = json::decode<ElicitResult>(*answer);
  if (!result) return exchange_->ask_again(url.key, result.error().message);
  return result->action;
}

Result<SamplingResult> Context::ask(SampleAsk sample) {
  detail::server::Question question{.kind = detail::server::Question::Kind::sample};
  question.sample = std::move(sample.request);
  const Result<std::string_view> answer = exchange_->ask(sample.key, std::move(question));
  if (!answer) return answer.error();
  Result<SamplingResult> result = json::decode<SamplingResult>(*answer);
  if (!result) return exchange_->ask_again(sample.key, result.error().message);
  return result;
}

Result<std::vector<Root>> Context::ask(RootsAsk roots) {
  const Result<std::string_view> answer = exchange_->ask(
      roots.key, detail::server::Question{.kind = detail::server::Question::Kind::roots});
  if (!answer) return answer.error();
  struct Listed {
    std::vector<Root> roots{};
  };
  Result<Listed> listed = json::decode<Listed>(*answer);
  if (!listed) return exchange_->ask_again(roots.key, listed.error().message);
  return std::move(listed->roots);
}

InputRequired& InputRequired::form(std::string key, std::string message, RawJson schema) {
  detail::server::Question question{.kind = detail::server::Question::Kind::form};
  question.elicit.message = std::move(message);
  question.elicit.requestedSchema = std::move(schema);
  return add(std::move(key), std::move(question));
}

InputRequired& InputRequired::url(std::string key, std::string message, std::string url) {
  detail::server::Question question{.kind = detail::server::Question::Kind::url};
  question.elicit.mode = ElicitRequest::Mode::url;
  question.elicit.message = std::move(message);
  question.elicit.url = std::move(url);
  return add(std::move(key), std::move(question));
}

InputRequired& InputRequired::sample(std::string key, SamplingRequest request) {
  detail::server::Question question{.kind = detail::server::Question::Kind::sample};
  question.sample = std::move(request);
  return add(std::move(key), std::move(question));
}

InputRequired& InputRequired::roots(std::string key) {
  return add(std::move(key),
             detail::server::Question{.kind = detail::server::Question::Kind::roots});
}

}  // namespace godwit::inline v0
