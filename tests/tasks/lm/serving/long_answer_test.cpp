#include "lact/tasks/lm/serving/long_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "support/served_lm.h"
#include "support/web_client.h"

namespace lact::tasks::lm {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::PlainConnection;
using ::testing::StartsWith;

class Probe : public LongAnswer {
 public:
  using LongAnswer::end_stream;
  using LongAnswer::LongAnswer;
  using LongAnswer::send_event;
  using LongAnswer::send_whole;
};

/// Makes a long answer of every request; "/stream" is a streamed one.
class LongAnswerTest : public ::testing::Test {
 protected:
  LongAnswerTest() : engine_(lm(), {}), server_({}, handlers()) { server_.start(); }

  std::shared_ptr<Probe> ask(PlainConnection& client, const std::string& path) {
    client.send("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return probe_ != nullptr; });
    return std::move(probe_);
  }

  int port() const { return server_.port(); }

 private:
  Loaded lm() const { return load(folder_.path(), {.precision = ops::Precision::f32}); }
  serve::ServerHandlers handlers() {
    serve::ServerHandlers handlers;
    handlers.request = [this](const serve::HttpRequest& request, const serve::HttpReply& reply) {
      const std::lock_guard lock(mutex_);
      probe_ = std::make_shared<Probe>(engine_, reply, request.path == "/stream", /*limit_seconds=*/100);
      changed_.notify_all();
    };
    return handlers;
  }

  testing::TinyLmFolder folder_;
  Engine engine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Probe> probe_;
  serve::HttpServer server_;
};

TEST_F(LongAnswerTest, ASilentStreamShowsThatItLives) {
  PlainConnection client(port());
  const auto answer = ask(client, "/stream");
  const auto now = LongAnswer::Clock::now();
  answer->tick(now + seconds(1));  // too early
  answer->tick(now + seconds(20));
  EXPECT_THAT(client.receive_until("\n\n"), HasSubstr("text/event-stream"));
  answer->send_event({{"a", 1}});
  answer->end_stream("data: [DONE]\n\n");
  const std::string rest = client.receive_until("0\r\n\r\n");
  EXPECT_THAT(rest, HasSubstr("data: {\"a\":1}\n\n"));
  EXPECT_THAT(rest, HasSubstr("data: [DONE]\n\n"));
}

TEST_F(LongAnswerTest, ASilentWholeAnswerStaysSilentUntilItsTimeIsOver) {
  PlainConnection client(port());
  const auto answer = ask(client, "/whole");
  answer->tick(LongAnswer::Clock::now() + seconds(20));
  answer->tick(LongAnswer::Clock::now() + seconds(101));
  answer->send_whole({{"too", "late"}});
  const std::string received = client.receive_until("}}");
  EXPECT_THAT(received, StartsWith("HTTP/1.1 504"));
  EXPECT_THAT(received, HasSubstr("longer than 100 seconds"));
}

TEST_F(LongAnswerTest, WhatEndedStaysEnded) {
  PlainConnection client(port());
  const auto answer = ask(client, "/stream");
  answer->send_event({{"a", 1}});
  answer->give_up(503, "No more.");
  answer->give_up(500, "Again.");
  answer->send_event({{"b", 2}});
  const std::string received = client.receive_until("0\r\n\r\n");
  EXPECT_THAT(received, HasSubstr("\"message\":\"No more.\""));
  EXPECT_THAT(received, ::testing::Not(HasSubstr("Again")));
  EXPECT_THAT(received, ::testing::Not(HasSubstr("\"b\"")));
}

}  // namespace
}  // namespace lact::tasks::lm
