// Answers that come later, from other threads, in pieces or not at all; and clients that go, wait or flood.
#include "lact/serve/http_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lact/serve/http_server.h"
#include "support/web_client.h"

namespace lact::serve {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PlainConnection;
using ::testing::StartsWith;

/// Keeps requests until the test answers them.
class PatientServer {
 public:
  explicit PatientServer(const ServerOptions& options = {}, ServerHandlers handlers = {})
      : server_(options, with_request(std::move(handlers))) {
    server_.start();
  }

  int port() const { return server_.port(); }

  std::pair<HttpRequest, HttpReply> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

 private:
  ServerHandlers with_request(ServerHandlers handlers) {
    handlers.request = [this](HttpRequest request, HttpReply reply) {
      if (request.path == "/throw") throw std::runtime_error("a fault");
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(std::move(request), std::move(reply));
      changed_.notify_all();
    };
    return handlers;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<HttpRequest, HttpReply>> waiting_;
  HttpServer server_;
};

std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Waits for a condition that another thread brings about.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

TEST(HttpReply, ARequestIsAnsweredLaterByAnotherThread) {
  PatientServer server;
  PlainConnection client(server.port());
  client.send(post("/a%20b?c=d", "the body", "X-Thing: one\r\n"));
  auto [request, reply] = server.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b");
  EXPECT_EQ(request.parameter("c"), "d");
  EXPECT_EQ(request.header("x-thing"), "one");
  EXPECT_EQ(request.body, "the body");
  std::thread([&] { reply.send({201, "text/plain", "done"}); }).join();
  const std::string answer = client.receive_until("done");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 201"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 4\r\n"));
}

TEST(HttpReply, PiecesArriveAsTheyAreWrittenAndTheConnectionGoesOn) {
  PatientServer server;
  PlainConnection client(server.port());
  for (int round = 0; round < 3; ++round) {
    client.send(post("/", "x"));
    const HttpReply reply = server.take().second;
    reply.begin({200, "text/event-stream", "first"});
    EXPECT_THAT(client.receive_until("first\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"));
    reply.write("the second piece");
    EXPECT_EQ(client.receive_until("piece\r\n"), "10\r\nthe second piece\r\n");
    reply.write("");  // would end the answer
    reply.end();
    reply.write("too late");
    reply.send({200, "text/plain", "too late"});
    EXPECT_EQ(client.receive_until("0\r\n\r\n"), "0\r\n\r\n");
  }
}

TEST(HttpReply, OldClientsGetPiecesUntilTheConnectionEnds) {
  PatientServer server;
  PlainConnection client(server.port());
  client.send("GET / HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n");
  const HttpReply reply = server.take().second;
  reply.begin({200, "text/plain", "one "});
  reply.write("two");
  reply.end();
  const std::string answer = client.receive_all();
  EXPECT_THAT(answer, EndsWith("\r\n\r\none two"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
}

TEST(HttpReply, HeadHasNoBodyEvenInPieces) {
  PatientServer server;
  PlainConnection client(server.port());
  client.send("HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  const HttpReply reply = server.take().second;
  reply.begin({200, "text/plain", "one"});
  reply.write("two");
  reply.end();
  EXPECT_THAT(client.receive_all(), EndsWith("\r\n\r\n"));
}

TEST(HttpReply, WhoSendsTwoRequestsAtOnceGetsTwoAnswers) {
  PatientServer server;
  PlainConnection client(server.port());
  client.send(post("/1", "one") + post("/2", "two", "Connection: close\r\n"));
  for (int i = 0; i < 2; ++i) {
    auto [request, reply] = server.take();
    EXPECT_EQ(request.body, i == 0 ? "one" : "two");
    std::this_thread::sleep_for(milliseconds(10));
    reply.begin({200, "text/plain", "answer to " + request.body});
    reply.end();
  }
  const std::string answers = client.receive_all();
  EXPECT_THAT(answers, HasSubstr("answer to one"));
  EXPECT_THAT(answers, HasSubstr("answer to two"));
}

TEST(HttpReply, AClientThatLeavesIsNoticedBeforeAndDuringTheAnswer) {
  PatientServer server;
  for (const bool begun : {false, true}) {
    auto client = std::make_unique<PlainConnection>(server.port());
    client->send(post("/", "x"));
    const HttpReply reply = server.take().second;
    std::atomic<int> calls = 0;
    reply.when_gone([&] { ++calls; });
    if (begun) {
      reply.begin({200, "text/plain", "first"});
      client->receive_until("first");
    }
    EXPECT_FALSE(reply.gone());
    client.reset();
    EXPECT_TRUE(soon([&] { return calls == 1; }));
    EXPECT_TRUE(reply.gone());
    bool at_once = false;
    reply.when_gone([&] { at_once = true; });
    EXPECT_TRUE(at_once);
    reply.write("nobody reads this");
    reply.end();
    EXPECT_EQ(calls, 1);
  }
}

TEST(HttpReply, AnAnswerThatEndedIsNotLeft) {
  PatientServer server;
  auto client = std::make_unique<PlainConnection>(server.port());
  client->send(post("/", "x"));
  const HttpReply reply = server.take().second;
  std::atomic<bool> called = false;
  reply.when_gone([&] { called = true; });
  reply.send({200, "text/plain", "all"});
  client->receive_until("all");
  client.reset();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(called);
  EXPECT_FALSE(reply.gone());
}

TEST(HttpReply, ARequestThatNobodyAnswersIsAFaultOfOurs) {
  PatientServer server;
  PlainConnection client(server.port());
  client.send(post("/", "x"));
  server.take();
  EXPECT_THAT(client.receive_until("fault"), StartsWith("HTTP/1.1 500"));
  client.send(post("/throw", "x"));
  EXPECT_THAT(client.receive_until("fault"), StartsWith("HTTP/1.1 500"));
  client.send(post("/", "x"));
  server.take().second.begin({200, "text/plain", "half of it"});
  EXPECT_THAT(client.receive_all(), HasSubstr("half of it")) << "and closed, so that it is not taken for all";
}

TEST(HttpReply, RepliesOutliveTheServer) {
  std::optional<PatientServer> server(std::in_place);
  PlainConnection first(server->port()), second(server->port());
  first.send(post("/", "x"));
  const HttpReply waiting = server->take().second;
  second.send(post("/", "x"));
  std::optional<HttpReply> dropped = server->take().second;
  std::atomic<bool> called = false;
  waiting.when_gone([&] { called = true; });
  server.reset();
  EXPECT_TRUE(called);
  EXPECT_TRUE(waiting.gone());
  waiting.send({200, "text/plain", "too late"});
  dropped.reset();
  EXPECT_THAT(first.receive_all(), IsEmpty());
}

TEST(HttpReply, AClientThatDoesNotReadIsDropped) {
  PatientServer server({.unsent_bytes = 1 << 20});
  PlainConnection client(server.port());
  client.send(post("/", "x"));
  const HttpReply reply = server.take().second;
  std::atomic<bool> gone = false;
  reply.when_gone([&] { gone = true; });
  reply.begin({200, "text/plain", ""});
  for (int i = 0; i < 200 && !gone; ++i) {
    reply.write(std::string(100'000, 'x'));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(soon([&] { return gone.load(); }));
}

TEST(HttpReply, WhoWaitsForAnAnswerDoesNotGiveWay) {
  PatientServer server({.connections = 2});
  PlainConnection first(server.port()), second(server.port());
  first.send(post("/1", "x"));
  const HttpReply one = server.take().second;
  second.send(post("/2", "x"));
  const HttpReply two = server.take().second;
  EXPECT_THAT(PlainConnection(server.port()).receive_all(), StartsWith("HTTP/1.1 503"));
  one.send({200, "text/plain", "one."});
  EXPECT_THAT(first.receive_until("one."), StartsWith("HTTP/1.1 200"));
  PlainConnection third(server.port());  // the first is idle now
  EXPECT_THAT(first.receive_all(), IsEmpty());
  two.send({200, "text/plain", "two."});
  EXPECT_THAT(second.receive_until("two."), StartsWith("HTTP/1.1 200"));
}

TEST(HttpReply, ABodyThatDripsIsCutOff) {
  PatientServer server({.request_timeout = milliseconds(100), .slowest_body = 1 << 20});
  PlainConnection slow(server.port());
  slow.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n");
  const auto start = std::chrono::steady_clock::now();
  while (slow.send("x") == 1 && std::chrono::steady_clock::now() - start < std::chrono::seconds(5)) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(HttpReply, BodiesOfAllClientsTogetherAreLimited) {
  PatientServer server({.body_bytes = 1000, .all_body_bytes = 1500});
  PlainConnection first(server.port()), second(server.port());
  first.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(50));
  second.send("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_THAT(second.receive_all(), StartsWith("HTTP/1.1 503"));
  first.send(std::string(1000, 'x'));
  server.take().second.send({200, "text/plain", "done"});
  first.receive_until("done");
  PlainConnection third(server.port());
  third.send(post("/", std::string(1000, 'y')));
  EXPECT_EQ(server.take().first.body.size(), 1000U);
}

TEST(HttpReply, ARefusalComesBeforeTheBodyInTheServersOwnWords) {
  ServerHandlers handlers;
  handlers.refuse = [](const HttpRequest& head) -> std::optional<HttpResponse> {
    if (head.header("authorization") == "Bearer me") return std::nullopt;
    return HttpResponse{401, "application/json", "{\"no\": true}"};
  };
  handlers.body_limit = [](const HttpRequest& head) { return head.path == "/big" ? 1'000'000 : 10; };
  handlers.refusal = [](int status, const std::string& sentence) {
    return HttpResponse{status, "application/json", "{\"refused\": \"" + sentence + "\"}"};
  };
  PatientServer server({}, handlers);
  const std::string head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n";
  PlainConnection stranger(server.port()), known(server.port()), wordy(server.port());
  stranger.send(head + "\r\n");  // the body never comes
  EXPECT_THAT(stranger.receive_until("true}"), StartsWith("HTTP/1.1 401"));
  const std::string key = "Authorization: Bearer me\r\n";
  known.send(head + key + "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(known.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  known.send("hello");
  EXPECT_EQ(server.take().first.body, "hello");
  wordy.send(post("/", "eleven char", key));
  const std::string refused = wordy.receive_until("most 10");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(refused, HasSubstr("{\"refused\": \"The body has 11 bytes, expected at most 10"));
  PlainConnection big(server.port());
  big.send(post("/big", std::string(900'000, 'x'), key));
  EXPECT_EQ(server.take().first.body.size(), 900'000U);
}

TEST(HttpReply, PagesOfOtherSitesAreLetInByName) {
  PatientServer server({.names = {"Model.Lan"}, .origins = {"http://pages.example"}});
  PlainConnection asks(server.port()), named(server.port());
  asks.send("OPTIONS /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://pages.example\r\n\r\n");
  const std::string preflight = asks.receive_until("\r\n\r\n");
  EXPECT_THAT(preflight, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(preflight, HasSubstr("Access-Control-Allow-Origin: http://pages.example\r\n"));
  asks.send(post("/", "x", "Origin: http://pages.example\r\n"));
  server.take().second.send({200, "text/plain", "yes"});
  EXPECT_THAT(asks.receive_until("yes"), HasSubstr("Access-Control-Allow-Origin: http://pages.example\r\n"));
  for (const char* origin : {"http://evil.example", "null", "http://pages.example.evil"}) {
    EXPECT_THAT(
        testing::http_get(server.port(), "/", std::string("Host: 127.0.0.1\r\nOrigin: ") + origin + "\r\n"),
        StartsWith("HTTP/1.1 403"));
  }
  named.send("GET / HTTP/1.1\r\nHost: model.lan:8080\r\n\r\n");
  EXPECT_EQ(server.take().first.path, "/");
}

}  // namespace
}  // namespace lact::serve
