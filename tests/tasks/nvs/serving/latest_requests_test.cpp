#include "lact/tasks/nvs/serving/latest_requests.h"

#include <gtest/gtest.h>

#include <thread>

namespace lact::tasks::nvs {
namespace {

using std::chrono::milliseconds;

FrameRequest numbered_request(int64_t id) { return {id, {}}; }

/// The id of the next request, or -1.
int64_t taken(LatestRequests& requests) {
  const auto next = requests.take(milliseconds(0));
  return next ? next->second.id : -1;
}

TEST(LatestRequests, ANewerRequestTakesThePlaceOfTheOneThatWaits) {
  LatestRequests requests;
  requests.open(1);
  EXPECT_FALSE(requests.put(1, numbered_request(10)));
  EXPECT_TRUE(requests.put(1, numbered_request(11)));
  EXPECT_TRUE(requests.put(1, numbered_request(12)));
  EXPECT_EQ(taken(requests), 12);
  requests.finish(1);
  EXPECT_EQ(taken(requests), -1);
}

TEST(LatestRequests, APageWaitsForItsFrameBeforeItGetsAnother) {
  LatestRequests requests;
  requests.open(1);
  requests.put(1, numbered_request(1));
  EXPECT_EQ(taken(requests), 1);
  requests.put(1, numbered_request(2));
  EXPECT_EQ(taken(requests), -1);
  requests.finish(1);
  EXPECT_EQ(taken(requests), 2);
}

TEST(LatestRequests, PagesTakeTurnsHoweverFastOneOfThemAsks) {
  LatestRequests requests;
  requests.open(1);
  requests.open(2);
  requests.put(1, numbered_request(100));
  requests.put(2, numbered_request(200));
  requests.put(1, numbered_request(101));
  EXPECT_EQ(taken(requests), 101);
  requests.finish(1);
  requests.put(1, numbered_request(102));
  EXPECT_EQ(taken(requests), 200);
  EXPECT_EQ(taken(requests), 102);
}

TEST(LatestRequests, APageThatIsClosedIsForgotten) {
  LatestRequests requests;
  requests.open(1);
  requests.put(1, numbered_request(1));
  requests.close(1);
  EXPECT_EQ(taken(requests), -1);
  EXPECT_FALSE(requests.put(1, numbered_request(2)));
  requests.finish(1);
  EXPECT_EQ(taken(requests), -1);
}

TEST(LatestRequests, TakeWakesUpForARequest) {
  LatestRequests requests;
  requests.open(1);
  std::thread page([&] { requests.put(1, numbered_request(5)); });
  const auto next = requests.take(milliseconds(60'000));
  page.join();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->second.id, 5);
}

}  // namespace
}  // namespace lact::tasks::nvs
