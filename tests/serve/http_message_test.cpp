#include "lact/serve/http_message.h"

#include <gtest/gtest.h>

namespace lact::serve {
namespace {

TEST(HttpMessage, PercentSignsAreDecodedWhereTheyMeanSomething) {
  EXPECT_EQ(percent_decoded("%41%2f%c3%A4+b"), "A/\xc3\xa4+b");
  EXPECT_EQ(percent_decoded("%"), "%");
  EXPECT_EQ(percent_decoded("%4"), "%4");
  EXPECT_EQ(percent_decoded("%zz%4g"), "%zz%4g");
}

TEST(HttpMessage, ATargetIsAPathAndParameters) {
  HttpRequest request;
  split_target("/slots/3%20?action=save&name=a%26b&flag&action=second", request);
  EXPECT_EQ(request.path, "/slots/3 ");
  EXPECT_EQ(request.parameter("action"), "save");
  EXPECT_EQ(request.parameter("name"), "a&b");
  EXPECT_EQ(request.parameter("flag"), "");
  EXPECT_EQ(request.parameter("act"), "");
}

TEST(HttpMessage, AHeaderThatIsNotThereIsEmpty) {
  HttpRequest request;
  request.headers["content-type"] = "text/plain";
  EXPECT_EQ(request.header("content-type"), "text/plain");
  EXPECT_EQ(request.header("authorization"), "");
}

}  // namespace
}  // namespace lact::serve
