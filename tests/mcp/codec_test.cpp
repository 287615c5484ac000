// What all codecs have in common, and what the neutral one says. How each revision says a whole
// scenario is in tests/golden.
#include "mcp/era/codec.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "godwit/json/encode.hpp"
#include "godwit/mcp/error.hpp"
#include "godwit/rpc/error_code.hpp"
#include "mcp/era/eras.hpp"
#include "mcp/era/tool_param_headers.hpp"

namespace godwit::inline v0::mcp {
namespace {

std::vector<const Codec*> all_codecs() {
  std::vector<const Codec*> all;
  for (const std::string_view revision : Eras::built_in().revisions()) {
    all.push_back(Eras::built_in().find(revision));
  }
  return all;
}

template <class F>
std::string written(F&& write) {
  std::string out;
  json::Writer writer(out);
  write(writer);
  return out;
}

const ClientCapabilities can_all{
    .sampling = SamplingCapability{.tools = json::Object{}},
    .elicitation = ElicitationCapability{.form = json::Object{}, .url = json::Object{}}};

TEST(Codec, AMessageThatFulfilsAWishHasAName) {
  for (const Codec* const codec : all_codecs()) {
    for (const Wish wish : {Wish::sign_of_life, Wish::log_level, Wish::description, Wish::changes,
                            Wish::tell_of_roots}) {
      const auto message = codec->message_for(wish);
      EXPECT_TRUE(!message || !codec->name_of(*message).empty()) << codec->revision();
    }
    EXPECT_TRUE(codec->message_for(Wish::sign_of_life)) << codec->revision();
  }
}

TEST(Codec, WhatCanBeWordedHasAName) {
  const ElicitRequest form{.message = "m", .requestedSchema = RawJson{R"({"type":"object"})"}};
  const ElicitRequest url{
      .mode = ElicitRequest::Mode::url, .message = "m", .url = "x:1", .elicitationId = "7"};
  for (const Codec* const codec : all_codecs()) {
    const Worded forms = codec->word_form(form, can_all);
    EXPECT_EQ(std::holds_alternative<std::string>(forms),
              !codec->name_of(Operation::elicit).empty())
        << codec->revision();
    if (std::holds_alternative<std::string>(codec->word_url(url, can_all))) {
      EXPECT_FALSE(codec->name_of(Operation::elicit).empty()) << codec->revision();
    }
    EXPECT_TRUE(
        std::holds_alternative<std::string>(codec->word_sampling(ask_model("q", 9), can_all)))
        << codec->revision();
  }
}

TEST(Codec, WhoeverLacksACapabilityIsToldWhich) {
  const ClientCapabilities nothing;
  const auto required = [](const Worded& worded) {
    const auto* why = std::get_if<Unaskable>(&worded);
    return why ? std::string(why->required) : "could be asked";
  };
  const Codec& newest = Eras::built_in().newest_alone();
  EXPECT_EQ(required(newest.word_form({}, nothing)), R"({"elicitation":{"form":{}}})");
  EXPECT_EQ(required(newest.word_url({}, nothing)), R"({"elicitation":{"url":{}}})");
  EXPECT_EQ(required(newest.word_sampling({}, nothing)), R"({"sampling":{}})");
  EXPECT_EQ(required(newest.word_roots(nothing)), R"({"roots":{}})");
  // Where there are no words for it, that counts first.
  const Codec& oldest = *Eras::built_in().by_handshake().front();
  EXPECT_EQ(required(oldest.word_form({}, nothing)), "");
  EXPECT_EQ(required(oldest.word_url({}, can_all)), "");
}

TEST(Codec, AskingTakesExactlyOneWay) {
  struct Ways final : Asking {
    void by_requests() override { ++requests; }
    void by_result() override { ++results; }
    int requests = 0;
    int results = 0;
  };
  for (const Codec* const codec : all_codecs()) {
    Ways ways;
    codec->ask(ways);
    EXPECT_EQ(ways.requests + ways.results, 1) << codec->revision();
    // Rounds of a request are for those who ask by results.
    json::Document document;
    const json::View state = *document.parse("\"s\"");
    EXPECT_EQ(static_cast<bool>(codec->continued({}, state)), ways.results == 1);
  }
}

TEST(Codec, ARequestOfAServerHasExactlyOneFate) {
  struct Request final : ServerRequest {
    void serve(const Method* method) override {
      ++served;
      row = method;
    }
    void ignore() override { ++ignored; }
    int served = 0;
    int ignored = 0;
    const Method* row = nullptr;
  };
  for (const Codec* const codec : all_codecs()) {
    Request request;
    codec->receive("roots/list", request);
    EXPECT_EQ(request.served + request.ignored, 1) << codec->revision();
    EXPECT_TRUE(request.served == 0 || request.row->operation == Operation::list_roots);
  }
}

TEST(Codec, ErrorsOfTheProcessDoNotTravel) {
  for (const Codec* const codec : all_codecs()) {
    const Error missing = codec->wire_error(not_found("x:1"));
    EXPECT_EQ(missing.code, codec->not_found_code());
    EXPECT_GT(missing.code, -40000);
    EXPECT_EQ(codec->wire_error(tool_error("t")).code, rpc::code::internal_error);
    EXPECT_EQ(codec->wire_error({.code = 7, .message = "own"}).code, 7);
    EXPECT_EQ(codec->wire_error({.code = mcp::code::suspended, .cause = Cause::in_process}).code,
              rpc::code::internal_error);
  }
}

TEST(Codec, ArgumentsThatDoNotFitKeepTheirData) {
  for (const Codec* const codec : all_codecs()) {
    Error error = rpc::invalid_params("short");
    error.data = "{\"at\":1}";
    const Error became = codec->bad_arguments(error, "The arguments do not fit");
    if (is_tool_error(became)) {
      EXPECT_EQ(became.message, "The arguments do not fit");
    } else {
      EXPECT_EQ(became.code, rpc::code::invalid_params);
      EXPECT_NE(became.message.find("The arguments do not fit"), std::string::npos);
      EXPECT_EQ(became.data, error.data);
    }
  }
}

TEST(Codec, TheNeutralOneSaysTheModelAsItIs) {
  const Codec neutral("neutral", {});
  Tool tool{.name = "n", .title = "t", .inputSchema = RawJson{"{}"}};
  tool.outputSchema = RawJson{R"({"type":"array"})"};
  EXPECT_EQ(written([&](json::Writer& w) { neutral.write_tool(w, tool); }), json::encode(tool));
  const std::vector<Content> contents = {text("a"), link("x:1", "x"), audio("b", "audio/wav")};
  EXPECT_EQ(written([&](json::Writer& w) { neutral.write_contents(w, contents); }),
            json::encode(contents));
  EXPECT_EQ(written([&](json::Writer& w) { neutral.write_structured(w, "[1]"); }),
            R"("structuredContent":[1])");
  json::Object meta;
  meta.set("k", 1);
  EXPECT_EQ(written([&](json::Writer& w) {
              neutral.begin_result(w);
              neutral.end_result(w, {.server = "{}", .meta = &meta, .ttl_ms = 5});
            }),
            R"({"_meta":{"k":1}})");
  EXPECT_FALSE(neutral.find("tools/call", Side::server));
  EXPECT_TRUE(neutral.name_of(Operation::call_tool).empty());
}

TEST(Codec, ResultsOfTheStatelessEraSayWhoseTheyAre) {
  const Codec& codec = Eras::built_in().newest_alone();
  const auto result = [&](const ResultEnd& end) {
    return written([&](json::Writer& w) {
      codec.begin_result(w);
      codec.end_result(w, end);
    });
  };
  EXPECT_EQ(result({.server = R"({"name":"s"})"}),
            R"({"resultType":"complete",)"
            R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}})");
  json::Object meta;
  meta.set("k", 1);
  EXPECT_EQ(result({.server = "{}", .meta = &meta, .ttl_ms = -5, .is_shared = true}),
            R"({"resultType":"complete","ttlMs":0,"cacheScope":"public",)"
            R"("_meta":{"io.modelcontextprotocol/serverInfo":{},"k":1}})");
}

TEST(Codec, WhatAServerOfOneEraSaysMeansNothingInAnother) {
  json::Document document;
  const json::View result = *document.parse(R"({"resultType":"input_required","ttlMs":1000})");
  const Error mismatch{.code = -32020, .message = "Header mismatch"};
  for (const Codec* const codec : Eras::built_in().by_handshake()) {
    EXPECT_EQ(codec->kind_of(result), ResultKind::complete);
    EXPECT_EQ(codec->time_to_live(result), Duration(0));
    EXPECT_FALSE(codec->is_outdated(mismatch));
    EXPECT_FALSE(codec->is_own_error(mismatch));
    EXPECT_TRUE(codec->audience_of({}).is_everybody);
    EXPECT_EQ(codec->http_status(mismatch), 200);
    EXPECT_TRUE(codec->introduction({}, {.name = "c", .version = "1"}).empty());
  }
  const Codec& alone = Eras::built_in().newest_alone();
  EXPECT_EQ(alone.kind_of(result), ResultKind::input_required);
  EXPECT_GT(alone.time_to_live(result), Duration(0));
  EXPECT_TRUE(alone.is_outdated(mismatch));
  EXPECT_FALSE(alone.audience_of({}).is_everybody);
  EXPECT_EQ(alone.http_status(mismatch), 400);
}

TEST(Codec, BesideAHandshakeRequestsCarryOnlyTheProgramsMeta) {
  json::Object own;
  own.set("k", 1);
  own.set("progressToken", "mine");
  const TraceContext trace{.traceparent = "00-1"};
  const RequestMeta meta{.own = own,
                         .progress_token = 7,
                         .introduction = R"("who":1)",
                         .log_level = LoggingLevel::debug,
                         .trace = trace};
  const Eras& eras = Eras::built_in();
  EXPECT_EQ(eras.newest_by_handshake().request_meta(meta), R"("progressToken":7,"k":1)");
  EXPECT_EQ(eras.newest_alone().request_meta(meta),
            R"("progressToken":7,"k":1,"who":1,"io.modelcontextprotocol/logLevel":"debug",)"
            R"("traceparent":"00-1")");
}

}  // namespace
}  // namespace godwit::inline v0::mcp
