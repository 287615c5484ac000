#include "godwit/http/proxies.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

using godwit::http::Proxies;
using godwit::http::Url;

namespace {

Url url_of(const std::string& text) { return Url::parse(text).value(); }

}  // namespace

TEST(Proxies, AreForSomeHosts) {
  const Proxies proxies{
      .http = "proxy:3128",
      .https = "http://secure:1",
      .direct = {"example.com", ".intern", "only.org:8080", "10.0.0.1", "fd00::1"}};
  const auto via = [&](const std::string& url) {
    const auto found = proxies.find(url_of(url)).value();
    return found ? found->url.authority() : "direct";
  };
  EXPECT_EQ(via("http://other.com/"), "proxy:3128");
  EXPECT_EQ(via("https://other.com/"), "secure:1");
  EXPECT_EQ(via("http://example.com/"), "direct");
  EXPECT_EQ(via("http://EXAMPLE.com/"), "direct");
  EXPECT_EQ(via("http://a.example.com/"), "direct");
  EXPECT_EQ(via("http://notexample.com/"), "proxy:3128");
  EXPECT_EQ(via("http://a.intern/"), "direct");
  EXPECT_EQ(via("http://only.org/"), "proxy:3128");
  EXPECT_EQ(via("http://only.org:8080/"), "direct");
  EXPECT_EQ(via("http://10.0.0.1/"), "direct");
  EXPECT_EQ(via("http://[fd00::1]/"), "direct");
  EXPECT_EQ(via("http://localhost:9/"), "direct");
  EXPECT_EQ(via("http://127.1.2.3/"), "direct");
  EXPECT_EQ(via("http://[::1]/"), "direct");
  EXPECT_EQ(via("http://127.evil.com/"), "proxy:3128");
  EXPECT_FALSE((Proxies{.http = "http://"}.find(url_of("http://a/"))));
  EXPECT_FALSE((Proxies{.http = "https://p"}.find(url_of("http://a/"))));
  EXPECT_TRUE((Proxies{.http = "p:1", .loopback = true}.find(url_of("http://localhost/")).value()));
  EXPECT_FALSE((Proxies{.http = "p:1", .direct = {"*"}}.find(url_of("http://a/")).value()));
}

TEST(Proxies, ComeFromTheEnvironment) {
  for (const char* name :
       {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"}) {
    ::unsetenv(name);
  }
  ::setenv("HTTP_PROXY", "http://o:1", 1);
  EXPECT_EQ(Proxies::from_environment(), Proxies{.http = "http://o:1"});
  // Under CGI it is the header "Proxy" of whoever asks.
  ::setenv("REQUEST_METHOD", "GET", 1);
  EXPECT_EQ(Proxies::from_environment(), Proxies{});
  ::unsetenv("REQUEST_METHOD");
  ::setenv("http_proxy", "http://p:1", 1);
  ::setenv("HTTPS_PROXY", "http://q:2", 1);
  ::setenv("NO_PROXY", "a.com, .b.com,,c.com:80", 1);
  const Proxies got = Proxies::from_environment();
  EXPECT_EQ(got.http, "http://p:1");
  EXPECT_EQ(got.https, "http://q:2");
  EXPECT_EQ(got.direct, (std::vector<std::string>{"a.com", ".b.com", "c.com:80"}));
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "NO_PROXY"}) ::unsetenv(name);
}

TEST(Proxies, MayWantAPassword) {
  const auto found = [](const char* proxy) {
    return Proxies{.http = proxy}.find(url_of("http://a.com/")).value().value();
  };
  EXPECT_EQ(found("http://p:1").authorization, "");
  for (const char* proxy : {"http://ann:secret@p:1", "ann:secret@p:1", "http://ann:secret@p:1/"}) {
    EXPECT_EQ(found(proxy).authorization, "Basic YW5uOnNlY3JldA==") << proxy;
    EXPECT_EQ(found(proxy).url.authority(), "p:1") << proxy;
  }
  EXPECT_EQ(found("http://ann@p").authorization, "Basic YW5uOg==");
  EXPECT_EQ(found("http://a%6En:se%63ret@p").authorization, "Basic YW5uOnNlY3JldA==");
  EXPECT_EQ(found("http://a:b@c:d@p").url.authority(), "p");
  EXPECT_FALSE((Proxies{.http = "http://ann:1/2@p"}.find(url_of("http://a.com/"))));
  const auto bad = Proxies{.http = "http://ann:secret@p:x"}.find(url_of("http://a.com/"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.find("secret"), std::string::npos) << bad.error().message;
}
