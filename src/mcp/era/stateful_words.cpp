#include "stateful_words.hpp"

#include <utility>

#include "godwit/json/document.hpp"

namespace godwit::inline v0::mcp::stateful {

namespace {

/// The members that came with titles and with icons: on nearly every type.
template <class T>
void fit_common(T& value, const Traits& traits) {
  if constexpr (requires { value.title; }) {
    if (!traits.titles) value.title.reset();
  }
  if constexpr (requires { value._meta; }) {
    if (!traits.titles) value._meta.reset();
  }
  if constexpr (requires { value.icons; }) {
    if (!traits.icons) value.icons.reset();
  }
  if constexpr (requires { value.annotations->audience; }) {
    if (value.annotations) value.annotations = fitted(std::move(*value.annotations), traits);
  }
}

bool describes_object(const RawJson& schema) {
  json::Document document;
  const auto root = document.parse(schema.text);
  return root && root->find("type").as_string() == "object";
}

Content fit_one(AudioContent audio, const Traits& traits) {
  if (traits.audio) {
    fit_common(audio, traits);
    return audio;
  }
  EmbeddedResource resource;
  resource.resource = BlobResourceContents{
      .uri = "data:audio", .mimeType = std::move(audio.mimeType), .blob = std::move(audio.data)};
  resource.annotations = std::move(audio.annotations);
  fit_common(resource, traits);
  return resource;
}

Content fit_one(ResourceLink link, const Traits& traits) {
  if (traits.links) {
    fit_common(link, traits);
    return link;
  }
  TextContent text{.text = link.name + ": " + link.uri};
  text.annotations = std::move(link.annotations);
  fit_common(text, traits);
  return text;
}

Content fit_one(EmbeddedResource embedded, const Traits& traits) {
  fit_common(embedded, traits);
  embedded.resource = fitted(std::move(embedded.resource), traits);
  return embedded;
}

template <class T>
Content fit_one(T content, const Traits& traits) {
  fit_common(content, traits);
  return content;
}

}  // namespace

Implementation fitted(Implementation value, const Traits& traits) {
  fit_common(value, traits);
  if (!traits.icons) {
    value.description.reset();
    value.websiteUrl.reset();
  }
  return value;
}

Annotations fitted(Annotations value, const Traits& traits) {
  if (!traits.titles) value.lastModified.reset();
  return value;
}

Content fitted(Content value, const Traits& traits) {
  return std::visit([&](auto&& content) { return fit_one(std::move(content), traits); },
                    std::move(value));
}

ResourceContents fitted(ResourceContents value, const Traits& traits) {
  std::visit([&](auto& contents) { fit_common(contents, traits); }, value);
  return value;
}

Tool fitted(Tool value, const Traits& traits) {
  fit_common(value, traits);
  if (!traits.tool_annotations) value.annotations.reset();
  const bool output =
      traits.structured && value.outputSchema && describes_object(*value.outputSchema);
  if (!output) value.outputSchema.reset();
  return value;
}

Resource fitted(Resource value, const Traits& traits) {
  fit_common(value, traits);
  return value;
}

ResourceTemplate fitted(ResourceTemplate value, const Traits& traits) {
  fit_common(value, traits);
  return value;
}

Prompt fitted(Prompt value, const Traits& traits) {
  fit_common(value, traits);
  if (value.arguments) {
    for (PromptArgument& argument : *value.arguments) fit_common(argument, traits);
  }
  return value;
}

ServerCapabilities fitted(ServerCapabilities value, const Traits& traits) {
  if (!traits.completions) value.completions.reset();
  value.extensions.reset();
  return value;
}

ClientCapabilities fitted(ClientCapabilities value, const Traits& traits) {
  if (!traits.elicitation) value.elicitation.reset();
  if (!traits.elicitation_modes && value.elicitation) *value.elicitation = {};
  if (!traits.sampling_tools && value.sampling) *value.sampling = {};
  value.extensions.reset();
  return value;
}

SamplingRequest fitted(SamplingRequest value, const Traits& traits) {
  if (value.tools) {
    for (Tool& tool : *value.tools) tool = fitted(std::move(tool), traits);
  }
  for (SamplingMessage& message : value.messages) {
    if (!traits.titles) message._meta.reset();
    // A list of one is that one, where there are no lists.
    auto* blocks = std::get_if<std::vector<SamplingBlock>>(&message.content);
    if (!traits.sampling_tools && blocks && blocks->size() == 1) {
      SamplingBlock only = std::move(blocks->front());
      std::visit([&](auto& block) { message.content = std::move(block); }, only);
    }
    std::visit(
        [&](auto& content) {
          if constexpr (requires { content._meta; }) {
            if (!traits.titles) content._meta.reset();
          }
        },
        message.content);
  }
  return value;
}

bool can_say(const SamplingRequest& value, const Traits& traits) {
  for (const SamplingMessage& message : value.messages) {
    const auto& content = message.content;
    if (!traits.audio && std::holds_alternative<AudioContent>(content)) return false;
    if (traits.sampling_tools) continue;
    if (!std::holds_alternative<TextContent>(content) &&
        !std::holds_alternative<ImageContent>(content) &&
        !std::holds_alternative<AudioContent>(content)) {
      return false;
    }
  }
  return true;
}

bool can_say_form(const RawJson& schema, const Traits& traits) {
  if (traits.elicitation_modes) return true;
  json::Document document;
  const auto root = document.parse(schema.text);
  if (!root) return false;
  for (const auto [name, field] : root->find("properties").members()) {
    if (field.find("type").as_string() == "array") return false;
  }
  return true;
}

}  // namespace godwit::inline v0::mcp::stateful
