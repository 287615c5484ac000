#include "godwit/http/access.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "fake_exchange.hpp"

namespace godwit::inline v0::http {
namespace {

using test::FakeRequest;

constexpr std::uint16_t port = 8080;

struct Value {
  const char* text;
  bool good;
};

// Of a server on 127.0.0.1:8080.
const Value hosts[] = {
    {"localhost:8080", true},
    {"127.0.0.1:8080", true},
    {"[::1]:8080", true},
    {"LOCALHOST:8080", true},
    {"LocalHost:8080", true},
    // Other names.
    {"evil.example:8080", false},
    {"evil.example", false},
    {"localhost.evil.example:8080", false},
    {"evil-localhost:8080", false},
    {"localhost.:8080", false},
    {"127.0.0.1.:8080", false},
    {"127.0.0.1.evil.example:8080", false},
    {"localhost.localdomain:8080", false},
    {"0.0.0.0:8080", false},
    {"127.0.0.2:8080", false},
    {"127.1:8080", false},
    {"2130706433:8080", false},
    {"0x7f000001:8080", false},
    {"192.168.1.5:8080", false},
    {"[::]:8080", false},
    {"[::ffff:127.0.0.1]:8080", false},
    {"[0:0:0:0:0:0:0:1]:8080", false},
    {"[::1%25lo]:8080", false},
    {"::1:8080", false},
    {"::1", false},
    {"[::1", false},
    {"::1]:8080", false},
    {"[::1]evil:8080", false},
    {"evil[::1]:8080", false},
    {"[::1].evil.example:8080", false},
    // Ports.
    {"localhost", false},
    {"localhost:", false},
    {"localhost:80", false},
    {"localhost:8081", false},
    {"localhost:8080:8080", false},
    {"localhost:8080x", false},
    {"localhost: 8080", false},
    {"localhost:+8080", false},
    {"localhost:-8080", false},
    {"localhost:73616", false},  // 8080 + 65536
    {"localhost:4294975376", false},
    {"localhost:0x1f90", false},
    {":8080", false},
    // What is no host.
    {"", false},
    {" localhost:8080", false},
    {"user@localhost:8080", false},
    {"localhost:8080@evil.example", false},
    {"localhost:8080/x", false},
    {"http://localhost:8080", false},
    {"localhost,evil.example:8080", false},
    {"localhost:8080,evil.example", false},
    {"localhost%00:8080", false},
    {"löcalhost:8080", false},
};

const Value origins[] = {
    {nullptr, true},
    {"http://localhost:8080", true},
    {"http://127.0.0.1:8080", true},
    {"http://[::1]:8080", true},
    {"http://LOCALHOST:8080", true},
    {"null", false},
    {"", false},
    {"http://evil.example", false},
    {"http://evil.example:8080", false},
    {"http://localhost", false},
    {"http://localhost:3000", false},
    {"http://localhost:8080.evil.example", false},
    {"http://localhost.evil.example:8080", false},
    {"http://localhost.:8080", false},
    {"http://localhost:8080/", false},
    {"http://localhost:8080/path", false},
    {"http://user@localhost:8080", false},
    {"http://localhost:8080@evil.example", false},
    {"ftp://localhost:8080", false},
    {"file://", false},
    {"localhost:8080", false},
    {"//localhost:8080", false},
    {"http:localhost:8080", false},
    {"http://", false},
    {"http://0.0.0.0:8080", false},
    {"http://localhost:8080 http://evil.example", false},
    {"chrome-extension://localhost:8080", false},
};

bool passes(const Access& access, std::optional<std::string> host,
            std::optional<std::string> origin = {}, bool secure = false) {
  FakeRequest request("POST", "/mcp");
  if (host) request.with("Host", *host);
  if (origin) request.with("Origin", *origin);
  return !access.refusal(request.secure(secure).get());
}

TEST(Access, EveryHostWithEveryOrigin) {
  static_assert(std::size(hosts) >= 40 && std::size(origins) >= 20);
  const Access access{.port = port};
  for (const Value& host : hosts) {
    for (const Value& origin : origins) {
      EXPECT_EQ(passes(access, host.text,
                       origin.text ? std::optional<std::string>(origin.text) : std::nullopt),
                host.good && origin.good)
          << "Host: " << host.text << " Origin: " << (origin.text ? origin.text : "(none)");
    }
  }
}

TEST(Access, WithoutAHostNobodyPasses) {
  EXPECT_FALSE(passes({.port = port}, std::nullopt));
  EXPECT_FALSE(passes({.wide = true}, std::nullopt));
}

TEST(Access, TheNamesOfFieldsHaveAnyCase) {
  const Access access{.port = port};
  FakeRequest good;
  EXPECT_FALSE(access.refusal(good.with("hOST", "localhost:8080").get()));
  FakeRequest bad;
  EXPECT_TRUE(access.refusal(
      bad.with("HOST", "localhost:8080").with("oRIGIN", "http://evil.example").get()));
}

TEST(Access, ADoubledHostNamesTwoServers) {
  const Access access{.port = port};
  for (const char* second : {"evil.example:8080", "localhost:8080"}) {
    FakeRequest request;
    request.with("Host", "localhost:8080").with("Host", second);
    EXPECT_TRUE(access.refusal(request.get())) << second;
  }
}

TEST(Access, ADoubledOriginIsNone) {
  const Access access{.origins = {"https://app.example"}, .port = port};
  for (const char* first : {"http://localhost:8080", "https://app.example"}) {
    for (const char* second : {"http://evil.example", "http://localhost:8080", "null"}) {
      FakeRequest request;
      request.with("Host", "localhost:8080").with("Origin", first).with("Origin", second);
      EXPECT_TRUE(access.refusal(request.get())) << first << " " << second;
    }
  }
}

TEST(Access, AnUnknownPortIsAnyPortOfTheOwnMachine) {
  const Access access{};
  for (const char* host : {"localhost", "localhost:1", "127.0.0.1:65535", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(passes(access, host)) << host;
  }
  for (const char* host : {"evil.example", "192.168.1.5", "localhost:65536", "localhost:"}) {
    EXPECT_FALSE(passes(access, host)) << host;
  }
}

TEST(Access, ThePortThatIsNotSaidIsThatOfTheScheme) {
  EXPECT_TRUE(passes({.port = 80}, "localhost"));
  EXPECT_FALSE(passes({.port = 80}, "localhost", {}, true));
  EXPECT_TRUE(passes({.port = 443}, "localhost", {}, true));
  EXPECT_TRUE(passes({.port = 443}, "localhost", "https://localhost", true));
  EXPECT_TRUE(passes({.port = 80}, "localhost:80", "http://localhost"));
  EXPECT_FALSE(passes({.port = 443}, "localhost", "http://localhost", true));
}

TEST(Access, ListedHosts) {
  const Access access{.hosts = {"mcp.example.com", "other.example:8443"}, .port = port};
  for (const char* good : {"mcp.example.com", "mcp.example.com:1", "MCP.Example.COM:443",
                           "other.example:8443", "localhost:8080"}) {
    EXPECT_TRUE(passes(access, good)) << good;
  }
  for (const char* bad : {"other.example", "other.example:8444", "x.mcp.example.com",
                          "mcp.example.com.", "mcp.example.com.evil.example", "mcp.example.com:x",
                          "example.com", "user@mcp.example.com", "mcp.example.com/x"}) {
    EXPECT_FALSE(passes(access, bad)) << bad;
  }
  EXPECT_TRUE(passes(access, "mcp.example.com", "https://mcp.example.com"));
  EXPECT_FALSE(passes(access, "mcp.example.com", "https://evil.example"));
  EXPECT_FALSE(passes(access, "mcp.example.com", "https://mcp.example.com.evil.example"));
}

TEST(Access, ListedOrigins) {
  const Access access{.origins = {"https://app.example"}, .port = port};
  EXPECT_TRUE(passes(access, "localhost:8080", "https://app.example"));
  EXPECT_TRUE(passes(access, "localhost:8080", "http://localhost:8080"));
  EXPECT_TRUE(passes(access, "localhost:8080"));
  for (const char* bad : {"http://app.example", "https://app.example:444", "https://app.example/",
                          "https://x.app.example", "https://app.example.evil.example", "null"}) {
    EXPECT_FALSE(passes(access, "localhost:8080", bad)) << bad;
  }
  EXPECT_FALSE(passes(access, "evil.example:8080", "https://app.example"));
  FakeRequest request;
  request.with("Host", "localhost:8080").with("Origin", "https://app.example");
  EXPECT_EQ(access.listed_origin(request.get()), "https://app.example");
  EXPECT_EQ(access.listed_origin(request.set("Origin", "http://localhost:8080").get()), "");
  EXPECT_EQ(access.listed_origin(request.without("Origin").get()), "");
}

TEST(Access, PagesOfOtherSitesAreKeptOutByTheirOwnBrowser) {
  const Access access{.origins = {"https://app.example"}, .port = port};
  const auto from = [&](std::string site, std::string origin) {
    FakeRequest request;
    request.with("Host", "localhost:8080").with("Sec-Fetch-Site", std::move(site));
    if (!origin.empty()) request.with("Origin", std::move(origin));
    return !access.refusal(request.get());
  };
  EXPECT_FALSE(from("cross-site", ""));
  EXPECT_FALSE(from("cross-site", "http://localhost:8080"));
  EXPECT_FALSE(from("cross-site", "https://evil.example"));
  EXPECT_TRUE(from("cross-site", "https://app.example"));
  EXPECT_TRUE(from("same-origin", "http://localhost:8080"));
  EXPECT_TRUE(from("none", ""));
  EXPECT_TRUE(from("same-origin", ""));
  EXPECT_FALSE(from("same-site", "")) << "another port or name: not the server's own page";
  EXPECT_FALSE(from("", ""));
  EXPECT_FALSE(from("None", ""));
  EXPECT_FALSE(from("same-origin, cross-site", ""));
  FakeRequest twice;
  twice.with("Host", "localhost:8080").with("Sec-Fetch-Site", "none");
  EXPECT_TRUE(access.refusal(twice.with("Sec-Fetch-Site", "cross-site").get()));
}

TEST(Access, AWideServerIsCalledByItsNumbers) {
  const Access access{.hosts = {"mcp.example.com"}, .port = port, .wide = true};
  for (const char* good : {"192.168.1.5:8080", "10.0.0.1:8080", "[fe80::1]:8080", "0.0.0.0:8080",
                           "localhost:8080", "mcp.example.com:8080"}) {
    EXPECT_TRUE(passes(access, good)) << good;
  }
  for (const char* bad :
       {"192.168.1.5:8081", "192.168.1.5", "evil.example:8080", "192.168.1.5.evil.example:8080",
        "[fe80::1]x:8080", "a192.168.1.5:8080", "192.168.1.5:8080:8080"}) {
    EXPECT_FALSE(passes(access, bad)) << bad;
  }
  EXPECT_TRUE(passes(access, "192.168.1.5:8080", "http://192.168.1.5:8080"));
  EXPECT_FALSE(passes(access, "192.168.1.5:8080", "http://evil.example:8080"));
}

TEST(Access, APageOnSomebodyElsesNumberIsAnotherOrigin) {
  const Access access{.port = port, .wide = true};
  EXPECT_FALSE(passes(access, "192.168.1.5:8080", "http://203.0.113.66:8080"));
  EXPECT_FALSE(passes(access, "192.168.1.5:8080", "http://[2001:db8::66]:8080"));
}

TEST(Access, WhatStandsInBracketsMustBeAnAddress) {
  const Access access{.port = port, .wide = true};
  for (const char* bad : {"[evil.example]:8080", "[]:8080", "[x]:8080", "[::1][::1]:8080"}) {
    EXPECT_FALSE(passes(access, bad)) << bad;
  }
}

TEST(Access, TheRefusalSaysWhatToDo) {
  const Access access{.port = port};
  FakeRequest host;
  EXPECT_NE(access.refusal(host.with("Host", "evil.example").get())->find("--allow-host"),
            std::string::npos);
  FakeRequest origin;
  origin.with("Host", "localhost:8080").with("Origin", "http://evil.example");
  EXPECT_NE(access.refusal(origin.get())->find("--allow-origin"), std::string::npos);
}

}  // namespace
}  // namespace godwit::inline v0::http
