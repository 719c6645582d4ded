// Clients that leave, wait, flood or lie: they hurt nobody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/served_lm.h"
#include "support/web_client.h"

namespace lact::tasks::lm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::PlainConnection;
using testing::ServedLm;
using ::testing::StartsWith;

/// A text that would take minutes.
json endless(bool stream) {
  return {{"prompt", "On and on"},
          {"max_tokens", 1'000'000},
          {"temperature", 0},
          {"ignore_eos", true},
          {"stream", stream}};
}

std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

int64_t busy_slots(ServedLm& served) {
  const auto status = served.server().engine().status();
  int64_t busy = status.waiting;
  for (const auto& slot : status.slots) busy += slot.busy ? 1 : 0;
  return busy;
}

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

bool answers(const ServedLm& served) {
  const auto answer =
      served.client().post("/completion", {{"prompt", "a"}, {"max_tokens", 2}, {"ignore_eos", true}});
  return answer.status == 200 && answer.json()["tokens_predicted"] == 2;
}

const ServingOptions kLong = {.max_tokens_limit = 1'000'000, .slots = 2};

TEST(HostileClients, WhoLeavesEndsTheText) {
  ServedLm served(kLong);
  for (const bool stream : {false, true}) {
    {
      PlainConnection client(served.port());
      client.send(post("/completion", endless(stream).dump()));
      if (stream) client.receive_until("data: ");
      EXPECT_TRUE(soon([&] { return busy_slots(served) == 1; }));
    }
    EXPECT_TRUE(soon([&] { return busy_slots(served) == 0; })) << "stream " << stream;
  }
  EXPECT_TRUE(answers(served));
}

TEST(HostileClients, WhoWaitsForASlotAndLeavesIsForgotten) {
  ServedLm served(kLong);
  std::vector<std::unique_ptr<PlainConnection>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<PlainConnection>(served.port()));
    clients.back()->send(post("/v1/completions", endless(true).dump()));
  }
  EXPECT_TRUE(soon([&] { return served.server().engine().status().waiting == 4; }));
  clients.clear();
  EXPECT_TRUE(soon([&] { return busy_slots(served) == 0; }));
  EXPECT_TRUE(answers(served));
}

TEST(HostileClients, ARequestMayNotTakeForEver) {
  ServedLm served({.max_tokens_limit = 1'000'000, .request_seconds = 0.3});
  const auto whole = served.client().post("/completion", endless(false));
  EXPECT_EQ(whole.status, 504);
  EXPECT_THAT(whole.sentence(), HasSubstr("longer than 0.3 seconds"));
  const auto stream = served.client().post("/v1/completions", endless(true));
  EXPECT_EQ(stream.status, 200);
  EXPECT_EQ(stream.events().back()["error"]["code"], 504) << "what was written is there, and why it ends";
  EXPECT_TRUE(soon([&] { return busy_slots(served) == 0; }));
}

TEST(HostileClients, TheServersEndIsToldToThoseWhoWait) {
  ServedLm served(kLong);
  PlainConnection stream(served.port()), whole(served.port());
  stream.send(post("/completion", endless(true).dump()));
  whole.send(post("/completion", endless(false).dump()));
  const std::string begun = stream.receive_until("data: ");
  EXPECT_TRUE(soon([&] { return busy_slots(served) == 2; }));
  const auto start = std::chrono::steady_clock::now();
  served.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
  EXPECT_THAT(stream.receive_all(), HasSubstr("The server is shutting down."));
  EXPECT_THAT(whole.receive_all(), HasSubstr("HTTP/1.1 503"));
}

TEST(HostileClients, SlowAndSilentOnesGiveWay) {
  ServedLm served({.connections = 8});
  std::vector<std::unique_ptr<PlainConnection>> slow;
  for (int i = 0; i < 40; ++i) {
    slow.push_back(std::make_unique<PlainConnection>(served.port()));
    slow.back()->send(i % 2 == 0 ? "POST /completion HTTP/1.1\r\nHost: 127" : "");
  }
  EXPECT_TRUE(answers(served));
}

TEST(HostileClients, NonsenseIsRefusedInASentence) {
  ServedLm served({.body_mib = 1});
  const std::string deep = "{\"prompt\": " + std::string(100'000, '[') + "}";
  for (const std::string& body :
       {std::string("{"), std::string("\xff\xfe\x00", 3), deep, std::string("[1,2]"), std::string("null"),
        std::string("{\"prompt\": \"\\ud800\"}"), std::string("{\"prompt\": \"\xc3\"}"),
        std::string("{\"prompt\": \"a\", \"max_tokens\": 1e308}"),
        std::string("{\"prompt\": [999999999999]}")}) {
    const auto answer = served.client().ask("POST", "/v1/completions", body, "application/json");
    EXPECT_EQ(answer.status, 400) << body.substr(0, 50);
    EXPECT_NE(answer.sentence(), "");
  }
  const auto huge = served.client().ask("POST", "/completion", std::string(2 << 20, ' '), "application/json");
  EXPECT_EQ(huge.status, 413);
  EXPECT_EQ(huge.json()["error"]["type"], "invalid_request_error");
  PlainConnection garbage(served.port());
  garbage.send("\x16\x03\x01 GET me a text\r\n\r\n");
  EXPECT_THAT(garbage.receive_all(), StartsWith("HTTP/1.1 400"));
  EXPECT_TRUE(answers(served));
}

TEST(HostileClients, PagesOfOtherSitesAreRefusedUnlessNamed) {
  ServedLm served({.allow_origin = {"http://pages.example"}});
  const std::string body = R"({"prompt": "a", "max_tokens": 1})";
  const auto ask = [&](const std::string& headers) {
    PlainConnection client(served.port());
    client.send("POST /completion HTTP/1.1\r\n" + headers +
                "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.receive_all();
  };
  EXPECT_THAT(ask("Host: evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  const std::string let_in = ask("Host: 127.0.0.1\r\nOrigin: http://pages.example\r\n");
  EXPECT_THAT(let_in, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(let_in, HasSubstr("Access-Control-Allow-Origin: http://pages.example"));
}

TEST(HostileClients, AKeyIsAskedForBeforeTheBodyIsRead) {
  ServedLm served({.api_key = {"secret"}});
  PlainConnection client(served.port());
  client.send("POST /completion HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000000\r\n\r\n");
  EXPECT_THAT(client.receive_until("KEY"), StartsWith("HTTP/1.1 401"));
}

}  // namespace
}  // namespace lact::tasks::lm
