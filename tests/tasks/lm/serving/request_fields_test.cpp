#include "lact/tasks/lm/serving/request_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lact::tasks::lm {
namespace {

using ::testing::HasSubstr;
using testing::sentence_of;

TEST(RequestFields, ValuesAreTakenWithTheirLimits) {
  const auto body = ApiJson::parse(R"({"a": 3, "b": 0.5, "c": true, "d": "x", "e": null, "f": 4.0})");
  RequestFields fields(body, "the request");
  EXPECT_EQ(fields.whole("a", 0, 1, 5), 3);
  EXPECT_EQ(fields.real("b", 0, 0, 1), 0.5);
  EXPECT_TRUE(fields.flag("c", false));
  EXPECT_EQ(fields.text("d"), "x");
  EXPECT_EQ(fields.whole("e", 7, 0, 5), 7) << "null is as if it were not there";
  EXPECT_EQ(fields.whole("f", 0, 0, 5), 4);
  EXPECT_EQ(fields.real("missing", 0.25, 0, 1), 0.25);
  EXPECT_NO_THROW(fields.finish());
}

TEST(RequestFields, EveryMistakeNamesTheFieldAndWhatIsExpected) {
  const auto body = ApiJson::parse(
      R"({"n": 9, "big": 18446744073709551615, "half": 1.5, "word": "x", "list": [1], "on": 1})");
  RequestFields fields(body, "the request");
  const auto sentence = [](auto action) { return sentence_of<ApiError>(action); };
  EXPECT_EQ(sentence([&] { fields.whole("n", 0, 1, 5); }), "n is 9, expected a whole number from 1 to 5");
  EXPECT_THAT(sentence([&] { fields.whole("big", 0, 0, INT64_MAX); }),
              HasSubstr("big is 18446744073709551615"));
  EXPECT_THAT(sentence([&] { fields.whole("half", 0, 0, 5); }), HasSubstr("half is 1.5, expected a whole"));
  EXPECT_THAT(sentence([&] { fields.whole("word", 0, 0, 5); }), HasSubstr("word is \"x\""));
  EXPECT_THAT(sentence([&] { fields.real("word", 0, 0, 5); }), HasSubstr("expected a number from 0 to 5"));
  EXPECT_THAT(sentence([&] { fields.flag("on", false); }), HasSubstr("on is 1, expected true or false"));
  EXPECT_THAT(sentence([&] { fields.text("list"); }), HasSubstr("list is [1], expected a string"));
  EXPECT_THAT(sentence([&] { fields.required_text("nothing"); }),
              HasSubstr("the request has no \"nothing\""));
  EXPECT_THAT(sentence([&] { RequestFields(body["list"], "it"); }),
              HasSubstr("it is [1], expected an object"));
}

TEST(RequestFields, WhatNobodyTakesIsRefusedWithTheNearestName) {
  const auto body = ApiJson::parse(R"({"temprature": 1})");
  RequestFields fields(body, "the request");
  fields.real("temperature", 1, 0, 2);
  EXPECT_EQ(sentence_of<ApiError>([&] { fields.finish(); }),
            "the request has an unknown field \"temprature\"; \"temperature\" is known");
  fields.ignore({"temprature"});
  EXPECT_NO_THROW(fields.finish());
}

TEST(RequestFields, AFeatureThatIsNotHereMayBeSwitchedOff) {
  const auto body = ApiJson::parse(R"({"best_of": 1, "penalty": 0.5, "tools": []})");
  RequestFields fields(body, "the request");
  EXPECT_NO_THROW(fields.without("best_of", {1}));
  EXPECT_NO_THROW(fields.without("tools", {ApiJson::array()}));
  EXPECT_NO_THROW(fields.without("absent", {}));
  EXPECT_EQ(sentence_of<ApiError>([&] { fields.without("penalty", {0}); }),
            "penalty is 0.5, which is not supported here, expected 0");
}

TEST(RequestFields, ABodyIsAJsonObjectOrAMistake) {
  for (const char* body : {"", "{", "{\"a\": }", "\xff\xfe", "{\"a\": 1} x"}) {
    EXPECT_THROW(parse_body(body), ApiError) << body;
  }
  EXPECT_THROW(parse_body(std::string(100'000, '[')), ApiError);
  EXPECT_EQ(parse_body("{\"a\": 1}")["a"], 1);
}

}  // namespace
}  // namespace lact::tasks::lm
