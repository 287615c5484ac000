#include "encode.hpp"

#include "godwit/json/document.hpp"

namespace godwit::inline v0::mcp {

namespace {

/// The members that came with titles: on nearly every type.
template <class T>
void fit_common(T& value, const Dialect& dialect) {
  if constexpr (requires { value.title; }) {
    if (!dialect.structured) value.title.reset();
  }
  if constexpr (requires { value._meta; }) {
    if (!dialect.structured) value._meta.reset();
  }
  if constexpr (requires { value.icons; }) {
    if (!dialect.icons) value.icons.reset();
  }
  if constexpr (requires { value.annotations->audience; }) {
    if (value.annotations) value.annotations = fitted(std::move(*value.annotations), dialect);
  }
}

bool describes_object(const RawJson& schema) {
  json::Document document;
  const auto root = document.parse(schema.text);
  return root && root->find("type").as_string() == "object";
}

Content fit_one(AudioContent audio, const Dialect& dialect) {
  if (dialect.audio) {
    fit_common(audio, dialect);
    return audio;
  }
  EmbeddedResource resource;
  resource.resource = BlobResourceContents{
      .uri = "data:audio", .mimeType = std::move(audio.mimeType), .blob = std::move(audio.data)};
  resource.annotations = std::move(audio.annotations);
  fit_common(resource, dialect);
  return resource;
}

Content fit_one(ResourceLink link, const Dialect& dialect) {
  if (dialect.structured) {
    fit_common(link, dialect);
    return link;
  }
  TextContent text{.text = link.name + ": " + link.uri};
  text.annotations = std::move(link.annotations);
  fit_common(text, dialect);
  return text;
}

Content fit_one(EmbeddedResource embedded, const Dialect& dialect) {
  fit_common(embedded, dialect);
  embedded.resource = fitted(std::move(embedded.resource), dialect);
  return embedded;
}

template <class T>
Content fit_one(T content, const Dialect& dialect) {
  fit_common(content, dialect);
  return content;
}

}  // namespace

Implementation fitted(Implementation value, const Dialect& dialect) {
  fit_common(value, dialect);
  if (!dialect.icons) {
    value.description.reset();
    value.websiteUrl.reset();
  }
  return value;
}

Annotations fitted(Annotations value, const Dialect& dialect) {
  if (!dialect.structured) value.lastModified.reset();
  return value;
}

Content fitted(Content value, const Dialect& dialect) {
  return std::visit([&](auto&& content) { return fit_one(std::move(content), dialect); },
                    std::move(value));
}

ResourceContents fitted(ResourceContents value, const Dialect& dialect) {
  std::visit([&](auto& contents) { fit_common(contents, dialect); }, value);
  return value;
}

Tool fitted(Tool value, const Dialect& dialect) {
  fit_common(value, dialect);
  if (!dialect.audio) value.annotations.reset();
  const bool output = dialect.stateless || (dialect.structured && value.outputSchema &&
                                            describes_object(*value.outputSchema));
  if (!output) value.outputSchema.reset();
  return value;
}

Resource fitted(Resource value, const Dialect& dialect) {
  fit_common(value, dialect);
  return value;
}

ResourceTemplate fitted(ResourceTemplate value, const Dialect& dialect) {
  fit_common(value, dialect);
  return value;
}

Prompt fitted(Prompt value, const Dialect& dialect) {
  fit_common(value, dialect);
  if (value.arguments) {
    for (PromptArgument& argument : *value.arguments) fit_common(argument, dialect);
  }
  return value;
}

ServerCapabilities fitted(ServerCapabilities value, const Dialect& dialect) {
  if (!dialect.audio) value.completions.reset();
  if (!dialect.stateless) value.extensions.reset();
  return value;
}

ClientCapabilities fitted(ClientCapabilities value, const Dialect& dialect) {
  if (!dialect.structured) value.elicitation.reset();
  if (!dialect.icons) {
    if (value.elicitation) *value.elicitation = {};
    if (value.sampling) *value.sampling = {};
  }
  if (dialect.stateless && value.roots) *value.roots = {};
  if (!dialect.stateless) value.extensions.reset();
  return value;
}

SamplingRequest fitted(SamplingRequest value, const Dialect& dialect) {
  if (value.tools) {
    for (Tool& tool : *value.tools) tool = fitted(std::move(tool), dialect);
  }
  for (SamplingMessage& message : value.messages) {
    if (!dialect.structured) message._meta.reset();
    // A list of one is that one, where there are no lists.
    auto* blocks = std::get_if<std::vector<SamplingBlock>>(&message.content);
    if (!dialect.icons && blocks && blocks->size() == 1) {
      SamplingBlock only = std::move(blocks->front());
      std::visit([&](auto& block) { message.content = std::move(block); }, only);
    }
    std::visit(
        [&](auto& content) {
          if constexpr (requires { content._meta; }) {
            if (!dialect.structured) content._meta.reset();
          }
        },
        message.content);
  }
  return value;
}

bool can_say(const SamplingRequest& value, const Dialect& dialect) {
  for (const SamplingMessage& message : value.messages) {
    const auto& content = message.content;
    if (!dialect.audio && std::holds_alternative<AudioContent>(content)) return false;
    if (dialect.icons) continue;
    if (!std::holds_alternative<TextContent>(content) &&
        !std::holds_alternative<ImageContent>(content) &&
        !std::holds_alternative<AudioContent>(content)) {
      return false;
    }
  }
  return true;
}

bool can_say_form(const RawJson& schema, const Dialect& dialect) {
  if (dialect.icons) return true;
  json::Document document;
  const auto root = document.parse(schema.text);
  if (!root) return false;
  for (const auto [name, field] : root->find("properties").members()) {
    if (field.find("type").as_string() == "array") return false;
  }
  return true;
}

void write_contents(json::Writer& writer, const std::vector<Content>& contents,
                    const Dialect& dialect) {
  writer.begin_array();
  for (const Content& content : contents) {
    const auto* text = std::get_if<TextContent>(&content);
    if (text && !text->annotations && !text->_meta) {
      write_text_content(writer, text->text);
    } else {
      json::write(writer, fitted(content, dialect));
    }
  }
  writer.end_array();
}

}  // namespace godwit::inline v0::mcp
