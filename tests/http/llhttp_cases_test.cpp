// The cases of llhttp, the parser of Node.js: what it refuses, or takes only when told to be
// lenient, is refused here, too; what it takes is taken with the same number of messages and the
// same size of bodies, or stands in a table with the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/http/request_parser.hpp"
#include "godwit/http/response_parser.hpp"
#include "test_data.hpp"

using godwit::http::RequestParser;
using godwit::http::ResponseParser;

namespace {

struct Case {
  std::string name;  // "request/sample: Simple request"
  std::string type;  // "request", "response-lenient-headers"
  bool skip_body = false;
  std::string bytes;
  std::string log;

  bool request() const { return type.starts_with("request"); }
  bool lenient() const { return type.find("-lenient") != type.npos; }
  bool logged(std::string_view text) const { return log.find(text) != log.npos; }
};

/// What came of it: whether it was refused, the whole messages and the bytes in their bodies.
struct Outcome {
  bool refused = false;
  std::size_t messages = 0;
  std::size_t body = 0;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << (outcome.refused ? "refused after " : "taken: ") << outcome.messages
             << " messages, " << outcome.body << " bytes of body";
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// From the notation of the suite to bytes: lines end with CR LF, the rest is escaped.
std::string bytes_of(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  replace_all(text, "\\\n", "");
  replace_all(text, "\n", "\r\n");
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char kind = text[++at];
    constexpr std::string_view names = "rntf";
    if (const std::size_t known = names.find(kind); known != names.npos) {
      out += "\r\n\t\f"[known];
    } else if (kind == 'x') {
      std::size_t used = 0;
      out += static_cast<char>(std::stoul(text.substr(at + 1, 2), &used, 16));
      at += used;
    } else {
      out += {'\\', kind};
    }
  }
  return out;
}

std::vector<Case> read_cases(const std::filesystem::path& file, const std::string& folder) {
  std::vector<Case> cases;
  Case now;
  std::string* block = nullptr;
  std::string title;
  std::string text = godwit::test::read_file(file);
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size() - 1);
    const std::string line(left.substr(0, end));
    left.remove_prefix(end + 1);
    if (block) {
      if (line != "```") {
        *block += line + "\n";
        continue;
      }
      if (block == &now.log && !now.type.empty()) {
        now.bytes = bytes_of(now.bytes);
        now.name = folder + "/" + file.stem().string() + ": " + title;
        cases.push_back(std::exchange(now, {}));
      }
      block = nullptr;
    } else if (line.starts_with("#")) {
      title = line.substr(line.find(' ') + 1);
      now = {};
    } else if (line.starts_with("<!-- meta=")) {
      now = {};
      const std::size_t at = line.find("\"type\":");
      if (at == line.npos) continue;
      const std::size_t open = line.find('"', at + 7);
      now.type = line.substr(open + 1, line.find('"', open + 1) - open - 1);
      now.skip_body = line.find("skipBody") != line.npos;
    } else if (line == "```http") {
      block = &now.bytes;
    } else if (line == "```log") {
      block = &now.log;
    }
  }
  return cases;
}

std::vector<Case> all_cases(const std::filesystem::path& root) {
  std::vector<Case> cases;
  for (const char* folder : {"request", "response"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / "test" / folder)) {
      if (entry.path().extension() != ".md") continue;
      for (Case& one : read_cases(entry.path(), folder)) cases.push_back(std::move(one));
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

/// What llhttp said.
Outcome outcome_of(const Case& one) {
  Outcome out;
  for (std::string_view left = one.log; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(line.size() + 1);
    const auto has = [&](std::string_view text) { return line.find(text) != line.npos; };
    if (has("message complete")) ++out.messages;
    // Interim responses are not counted here.
    if (has("headers complete status=10") && !has("status=101")) --out.messages;
    if (has("span[body]")) out.body += std::stoul(std::string(line.substr(line.find("len=") + 4)));
    // These two are about what comes behind the last message, which nobody reads here.
    if (has(" error code=") && !has("code=22 ") && !has("code=5 ")) out.refused = true;
  }
  return out;
}

template <class Parser>
void put(Parser& parser, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto space = parser.prepare();
    const std::size_t size = std::min(space.size(), bytes.size());
    ASSERT_GT(size, 0u);
    std::memcpy(space.data(), bytes.data(), size);
    parser.commit(size);
    bytes.remove_prefix(size);
  }
}

/// Nearly no request of the suite has a Host, so that each would be refused for the same reason.
std::string with_host(std::string bytes) {
  std::string lower = bytes;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  if (lower.find("\nhost:") != lower.npos) return bytes;
  for (const char* version : {" HTTP/1.1\r\n", " HTTP/1.0\r\n"})
    replace_all(bytes, version, version + std::string("Host: a\r\n"));
  return bytes;
}

Outcome parse_request(const Case& one, std::string_view more) {
  using Event = RequestParser::Event;
  RequestParser parser;
  put(parser, with_host(one.bytes + std::string(more)));
  Outcome out;
  for (;;) {
    switch (parser.next()) {
      case Event::none:
        return out;
      case Event::head:
        break;
      case Event::request:
        ++out.messages;
        out.body += parser.request().body.size();
        if (parser.wants_upgrade() || !parser.keep_alive()) return out;
        break;
      case Event::failed:
        out.refused = true;
        return out;
    }
  }
}

Outcome parse_response(const Case& one, std::string_view more) {
  using Event = ResponseParser::Event;
  ResponseParser parser;
  const char* const method = one.skip_body ? "HEAD" : "GET";
  parser.begin(method);
  put(parser, one.bytes + std::string(more));
  Outcome out;
  bool last = false;
  for (;;) {
    switch (parser.next()) {
      case Event::none:
        return out;
      case Event::head:
        last = parser.status() == 101 || parser.fields().lists("Connection", "close");
        break;
      case Event::body:
        out.body += parser.body().size();
        break;
      case Event::end:
        ++out.messages;
        if (last) return out;
        parser.begin(method);
        break;
      case Event::failed:
        out.refused = true;
        return out;
    }
  }
}

using Table = std::map<std::string, std::string>;

/// What llhttp takes and this library does not, on purpose.
const Table& stricter() {
  static const Table table = {
      {"request/method: CONNECT request", "no proxy: targets are paths"},
      {"request/method: CONNECT request with CAPS", "no proxy: targets are paths"},
      {"request/method: CONNECT with body", "no proxy: targets are paths"},
      {"request/uri: Underscore in hostname", "no proxy: targets are paths"},
      {"request/uri: Host terminated by a query string", "no proxy: targets are paths"},
      {"request/uri: `host:port` and basic auth", "no proxy: targets are paths"},
      {"request/uri: `host:port` terminated by a query string", "no proxy: targets are paths"},
      {"request/uri: `host:port` terminated by a space", "no proxy: targets are paths"},
      {"request/method: M-SEARCH request", "\"*\" is a target of OPTIONS alone"},
      {"request/uri: Fragment in URI", "a fragment is never sent"},
      {"request/method: ANNOUNCE request with RTSP", "another protocol"},
      {"request/method: OPTIONS request with RTSP", "another protocol"},
      {"request/method: SOURCE request with ICE", "another protocol"},
      {"response/sample: ICE response", "another protocol"},
      {"response/sample: RTSP response", "another protocol"},
      {"request/sample: No HTTP version", "HTTP/0.9"},
      {"response/sample: HTTP version 0.9", "HTTP/0.9"},
      {"request/pausing: on_chunk_extension_name", "chunk extensions"},
      {"request/pausing: on_chunk_extension_value", "chunk extensions"},
      {"request/transfer-encoding: Chunk extensions", "chunk extensions"},
      {"request/transfer-encoding: Chunk extensions quoting", "chunk extensions"},
      {"response/pausing: on_chunk_extension_name", "chunk extensions"},
      {"response/pausing: on_chunk_extension_value", "chunk extensions"},
      {"response/transfer-encoding: Chunk extensions", "chunk extensions"},
      {"response/transfer-encoding: Chunk extensions quoting", "chunk extensions"},
      {"request/sample: 255 ASCII in header value", "bytes of 0x80 and above"},
      {"request/sample: Extended Characters", "bytes of 0x80 and above"},
      {"request/sample: Firefox GET", "Host is \"0.0.0.0=5000\""},
      {"request/sample: curl GET", "Host is \"0.0.0.0=5000\""},
      {"request/transfer-encoding: POST with `chunked` as last transfer-encoding",
       "a coding besides chunked"},
      {"request/transfer-encoding: POST with `chunked` as last transfer-encoding (multiple "
       "headers)",
       "a coding besides chunked"},
      {"response/transfer-encoding: `chunked` before other transfer-encoding",
       "a coding besides chunked"},
      {"response/transfer-encoding: `chunkedchunked` transfer-encoding does not enable chunked "
       "enconding",
       "a coding besides chunked"},
      {"response/transfer-encoding: multiple transfer-encoding where chunked is not the last one",
       "a coding besides chunked"},
      {"request/connection: CRLF between requests, implicit `keep-alive`",
       "more than one empty line before a request"},
      {"response/connection: HTTP 100 first, then 400", "an empty line before a response"},
      {"response/connection: HTTP 304 with Content-Length", "an empty line before a response"},
      {"response/sample: Response starting with CRLF", "an empty line before a response"},
      {"response/connection: HTTP 101 response with Upgrade and Content-Length header",
       "a body where there is none"},
      {"response/connection: HTTP 101 response with Upgrade and Transfer-Encoding header",
       "a body where there is none"},
  };
  return table;
}

/// Taken, though llhttp refuses it, takes it only leniently, or sees something else in it.
const Table& different() {
  static const Table table = {
      {"request/connection: CRLF between requests, explicit `close` (lenient) "
       "(request-lenient-keep-alive)",
       "what follows \"Connection: close\" is not read"},
      {"request/connection: Resetting flags when keep-alive is off (1.0, lenient) "
       "(request-lenient-keep-alive)",
       "what follows \"Connection: close\" is not read"},
      {"response/connection: HTTP/1.1 with keep-alive disabled and 204 status (lenient) "
       "(response-lenient-keep-alive)",
       "what follows \"Connection: close\" is not read"},
      {"response/connection: HTTP/1.1 with keep-alive disabled, content-length (lenient) "
       "(response-lenient-data-after-close)",
       "what follows \"Connection: close\" is not read"},
      {"request/content-length: Content-Length reset when no body is received",
       "whoever called llhttp told it to skip the bodies"},
      {"request/invalid: HTTP protocol and ANNOUNCE method",
       "every token is a method, known or not"},
      {"request/invalid: Invalid method", "every token is a method, known or not"},
  };
  return table;
}

}  // namespace

TEST(LlhttpCases, NoneIsTakenMoreLeniently) {
  const auto root = godwit::test::test_data("llhttp-cases");
  if (!root) GTEST_SKIP() << "GODWIT_TEST_DATA does not hold llhttp-cases";
  const std::vector<Case> cases = all_cases(*root);
  EXPECT_GT(cases.size(), 200u);
  std::set<std::string> used;
  for (const Case& one : cases) {
    const Outcome theirs = outcome_of(one);
    const auto parse = [&](std::string_view more) {
      return one.request() ? parse_request(one, more) : parse_response(one, more);
    };
    const Outcome ours = parse("");
    const std::string key = one.name + (one.lenient() ? " (" + one.type + ")" : "");
    if (different().contains(key)) {
      used.insert(key);
      EXPECT_FALSE(ours.refused) << key;
    } else if (one.lenient() || theirs.refused) {
      // Some end in the middle of the line that is wrong, which is not looked at before its end.
      EXPECT_TRUE(ours.refused || parse("\r\n\r\n").refused) << key << "\n" << one.bytes;
      EXPECT_LE(ours.messages, theirs.messages) << key;
    } else if (stricter().contains(key)) {
      used.insert(key);
      EXPECT_TRUE(ours.refused) << key;
    } else {
      EXPECT_EQ(ours, theirs) << key << "\n" << one.bytes;
    }
  }
  for (const auto* table : {&stricter(), &different()})
    for (const auto& [key, why] : *table) EXPECT_TRUE(used.contains(key)) << "no case " << key;
}
