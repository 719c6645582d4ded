#include "lact/serve/same_site.h"

#include <gtest/gtest.h>

namespace lact::serve {
namespace {

TEST(SameSite, TheHostIsWhatStandsBeforeThePort) {
  EXPECT_EQ(host_of("127.0.0.1:8080"), "127.0.0.1");
  EXPECT_EQ(host_of("LocalHost"), "localhost");
  EXPECT_EQ(host_of("[::1]:80"), "::1");
  EXPECT_EQ(host_of("[::1]"), "::1");
  for (const char* malformed : {"", "[::1", "a:b", "a:80:80", "127.0.0.1:", "[::1]80", "a:123456"}) {
    EXPECT_EQ(host_of(malformed), "") << malformed;
  }
}

TEST(SameSite, NamesOfOtherSitesAreRefused) {
  for (const char* ours : {"127.0.0.1:9", "localhost:1234", "[::1]:80", "192.168.1.7:8080", "desk.example"}) {
    EXPECT_TRUE(host_is_ours(ours, "desk.example")) << ours;
  }
  for (const char* other :
       {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[evil]:80", "1.2.3"}) {
    EXPECT_FALSE(host_is_ours(other, "127.0.0.1")) << other;
  }
}

TEST(SameSite, KnowsWhatOthersCannotReach) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "192.168.0.1", "127.evil"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

TEST(SameSite, OnlyThePageOfTheSameHostAndPortIsOurs) {
  EXPECT_TRUE(origin_is_ours("http://127.0.0.1:8080", "127.0.0.1:8080"));
  EXPECT_TRUE(origin_is_ours("", "127.0.0.1:8080"));
  for (const char* other : {"http://127.0.0.1:8081", "http://localhost:8080", "https://127.0.0.1:8080",
                            "null", "http://evil.example", "http://127.0.0.1:8080.evil.example"}) {
    EXPECT_FALSE(origin_is_ours(other, "127.0.0.1:8080")) << other;
  }
}

}  // namespace
}  // namespace lact::serve
