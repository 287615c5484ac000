// Twice the input, at most two and a half times the steps: what comes from a peer in MCP's own
// shapes.
#include "work.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/decode.hpp"
#include "godwit/json/document.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/memory_event_store.hpp"
#include "godwit/mcp/sampling.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/mcp/uri_template.hpp"
#include "mcp/era/stateless_headers.hpp"
#include "store_outcome.hpp"

namespace godwit::inline v0 {
namespace {

std::string list_of(std::string_view item, std::size_t size) {
  std::string text = "[";
  for (std::size_t i = 0; i < size; ++i) text.append(item).push_back(',');
  text.back() = ']';
  return text;
}

/// Members that are taken as they came stand before the one that says what this is.
constexpr std::string_view late_type =
    R"({"structuredContent":{},"input":{},"type":"tool_result","toolUseId":"a","content":[]})";
constexpr std::string_view no_type = R"({"structuredContent":{},"input":{},"content":[]})";
constexpr std::string_view nested =
    R"({"structuredContent":{"a":[1]},"content":[{"text":"x","type":"text"}],"toolUseId":"a",)"
    R"("type":"tool_result"})";

template <class T>
void decode(const std::string& text) {
  (void)json::decode<T>(text);
}

TEST(McpWork, OfSampling) {
  const auto result = [](std::string_view block) {
    return [block](std::size_t size) {
      return R"({"role":"assistant","model":"m","content":)" + list_of(block, size) + "}";
    };
  };
  const auto request = [](std::string_view block) {
    return [block](std::size_t size) {
      return R"({"maxTokens":1,"messages":[{"role":"user","content":)" + list_of(block, size) +
             "}]}";
    };
  };
  const auto messages = [](std::size_t size) {
    return R"({"maxTokens":1,"messages":)" +
           list_of(R"({"role":"user","content":)" + std::string(late_type) + "}", size) + "}";
  };
  expect_linear({
      {"a result", result(late_type), decode<SamplingResult>},
      {"a result, nested", result(nested), decode<SamplingResult>},
      {"a result, no type", result(no_type), decode<SamplingResult>},
      {"a request", request(late_type), decode<SamplingRequest>},
      {"a request of many messages", messages, decode<SamplingRequest>},
  });
  // It is read, not given up.
  EXPECT_TRUE(json::decode<SamplingResult>(result(late_type)(20'000)));
  EXPECT_TRUE(json::decode<SamplingRequest>(messages(20'000)));
}

TEST(McpWork, OfContent) {
  expect_linear({
      {"resources",
       [](std::size_t size) {
         return list_of(R"({"resource":{"uri":"a:b","blob":""},"type":"resource"})", size);
       },
       decode<std::vector<Content>>},
      {"tools",
       [](std::size_t size) {
         return list_of(R"({"outputSchema":{"type":"object"},"name":"a","inputSchema":{}})", size);
       },
       decode<std::vector<Tool>>},
  });
}

TEST(McpWork, OfTemplates) {
  const auto match = [](std::string_view text) {
    return [parsed = UriTemplate::parse(text)](const std::string& uri) {
      ASSERT_TRUE(parsed);
      (void)parsed->match(uri);
    };
  };
  const auto uri = [](std::string_view part, std::string_view end) {
    return [part = std::string(part), end = std::string(end)](std::size_t size) {
      std::string text = "x://";
      for (std::size_t i = 0; i < size; ++i) text += part;
      return text + end;
    };
  };
  expect_linear({
      {"runs", uri("a", "!/end"), match("x://{a}{b}{c}/end")},
      {"literals that nearly fit", uri("aab", "aac"), match("x://{+a}aabaabaac{+b}aac")},
      {"segments", uri("/a", ""), match("x:/{/list*}")},
      {"parameters", uri("&a=1", ""), match("x://{&a*,b}")},
      {"a list in a name", uri("?a=1&a=2", ""), match("x://{?a*}")},
  });
}

TEST(McpWork, OfHeadersInSchemas) {
  expect_linear({{"properties",
                  [](std::size_t size) {
                    std::string text = R"({"type":"object","properties":{)";
                    for (std::size_t i = 0; i < size; ++i) {
                      const std::string name = "p" + std::to_string(i);
                      text += "\"" + name + R"(":{"type":"string")";
                      if (i < 64) text += R"(,"x-mcp-header":")" + name + "\"";  // no more may
                      text += "},";
                    }
                    text.back() = '}';
                    return text + "}";
                  },
                  [](const std::string& text) {
                    json::Document document;
                    const auto schema = document.parse(text);
                    ASSERT_TRUE(schema);
                    EXPECT_TRUE(mcp::param_headers(*schema));
                  }}});
}

TEST(McpWork, OfReplay) {
  Limits limits;
  limits.stream_events = 1'000'000;
  limits.stream_bytes = limits.event_store_bytes = 100u << 20;
  const auto make = [](std::size_t size) { return std::string(size, 'x'); };
  const auto ignore = [] { return Done<void>([](Result<void>) {}); };
  const auto append = [&](MemoryEventStore& store, std::string_view session,
                          std::string_view stream, std::uint64_t number) {
    store.append({session, stream}, number, "x", false, ignore());
  };
  expect_linear({
      {"all of a stream", make,
       [&](const std::string& input) {
         MemoryEventStore store(limits);
         for (std::uint64_t i = 1; i <= input.size(); ++i) append(store, "me", "a", i);
         std::uint64_t events = 0;
         while (events < input.size()) {
           const auto page = test::outcome_of<EventPage>([&](Done<EventPage> done) {
             store.read({"me", "a"}, events, 100, std::move(done));
           });
           ASSERT_FALSE(page->events.empty());
           events += page->events.size();
         }
         EXPECT_EQ(events, input.size());
       }},
      {"many streams", make,
       [&](const std::string& input) {
         MemoryEventStore store(limits);
         for (std::size_t i = 0; i < input.size(); ++i) append(store, "me", std::to_string(i), 1);
         for (std::size_t i = 0; i < input.size(); ++i) {
           store.forget({"me", std::to_string(i)}, ignore());
         }
         EXPECT_EQ(store.bytes(), 0u);
       }},
      {"many streams of a session, and many sessions", make,
       [&](const std::string& input) {
         MemoryEventStore store(limits);
         for (std::size_t i = 0; i < input.size(); ++i) {
           append(store, "me", std::to_string(i), 1);
           append(store, std::to_string(i), "a", 1);
         }
         store.forget_session("me", ignore());
         for (std::size_t i = 0; i < input.size(); ++i) {
           store.forget_session(std::to_string(i), ignore());
         }
         EXPECT_EQ(store.bytes(), 0u);
       }},
  });
}

}  // namespace
}  // namespace godwit::inline v0
