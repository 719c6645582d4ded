#include "lact/tasks/nvs/serving/frame_request.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::tasks::nvs {
namespace {

nlohmann::json good_request() {
  return {{"id", 7},       {"width", 640},
          {"height", 360}, {"fx", 500.0},
          {"fy", 510.0},   {"cx", 320.0},
          {"cy", 180.0},   {"camera_to_world", {{0, -1, 0, 4}, {1, 0, 0, 5}, {0, 0, 1, 6}, {0, 0, 0, 1}}}};
}

FrameRequest parsed(const nlohmann::json& json, FrameLimits limits = {2048, 8}) {
  return parse_frame_request(json.dump(), limits);
}

void expect_refused(const char* field, const nlohmann::json& value, const std::string& sentence) {
  auto json = good_request();
  json[field] = value;
  EXPECT_SENTENCE(parsed(json), sentence);
}

TEST(FrameRequest, TheCameraComesThrough) {
  const auto request = parsed(good_request());
  EXPECT_EQ(request.id, 7);
  EXPECT_EQ(request.camera.width, 640);
  EXPECT_EQ(request.camera.height, 360);
  EXPECT_EQ(request.camera.fy, 510);
  EXPECT_EQ(request.camera.camera_to_world[1], (std::array<double, 4>{1, 0, 0, 5}));
  auto json = camera_json(request.camera);
  json["id"] = 7;
  EXPECT_EQ(parsed(json).camera.camera_to_world, request.camera.camera_to_world);
}

TEST(FrameRequest, SizesAreRoundedToThePatchAndTheIntrinsicsWithThem) {
  auto json = good_request();
  json["width"] = 100;
  json["height"] = 3;
  json["fx"] = 100;
  json["cx"] = 50;
  json["fy"] = 6;
  json["cy"] = 1.5;
  const auto camera = parsed(json, {2048, 16}).camera;
  EXPECT_EQ(camera.width, 96);
  EXPECT_EQ(camera.height, 16);
  EXPECT_DOUBLE_EQ(camera.fx, 96);
  EXPECT_DOUBLE_EQ(camera.cx, 48);
  EXPECT_DOUBLE_EQ(camera.fy, 32);
  EXPECT_DOUBLE_EQ(camera.cy, 8);
}

TEST(FrameRequest, RoundingStaysBelowTheLimit) {
  auto json = good_request();
  json["width"] = json["height"] = 1000;
  const auto camera = parsed(json, {1000, 64}).camera;
  EXPECT_EQ(camera.width, 960);
  EXPECT_EQ(camera.height, 960);
}

TEST(FrameRequest, SizesOutOfRangeAreRefused) {
  for (const nlohmann::json& size :
       std::vector<nlohmann::json>{0, -8, 2049, 1e300, 64.5, "64", nullptr, true, UINT64_MAX, INT64_MIN}) {
    expect_refused("width", size, "[view] width is not a whole number from 1 to 2048");
    expect_refused("height", size, "[view] height is not a whole number from 1 to 2048");
  }
}

TEST(FrameRequest, WhatIsNoRequestIsRefused) {
  EXPECT_SENTENCE(parse_frame_request("hello", {}), "the message is not a JSON object");
  EXPECT_SENTENCE(parse_frame_request("", {}), "the message is not a JSON object");
  EXPECT_SENTENCE(parse_frame_request("[1, 2]", {}), "the message is not a JSON object");
  EXPECT_SENTENCE(parse_frame_request(std::string(16000, '['), {}), "the message is not a JSON object");
  EXPECT_SENTENCE(parse_frame_request("{\"id\": NaN}", {}), "the message is not a JSON object");
  EXPECT_SENTENCE(parse_frame_request("{}", {}), "the request has no \"id\"");
  expect_refused("id", -1, "id is not a whole number");
  for (const char* field : {"id", "width", "height", "fx", "fy", "cx", "cy", "camera_to_world"}) {
    auto json = good_request();
    json.erase(field);
    EXPECT_SENTENCE(parsed(json), fmt::format("the request has no \"{}\"", field));
  }
}

TEST(FrameRequest, NumbersMustBeFiniteAndSensible) {
  expect_refused("fx", nullptr, "[view] fx is null, expected a number");
  expect_refused("fx", 0, "[view] fx is 0, expected 6.4 to 64000");
  expect_refused("fy", -500, "[view] fy is -500");
  expect_refused("cx", 1e9, "[view] cx is 1000000000, expected -64000 to 64000");
  auto text = good_request().dump();
  text.replace(text.find("\"fx\":500.0"), 10, "\"fx\":1e999");
  EXPECT_SENTENCE(parse_frame_request(text, {}), "the message is not a JSON object");
}

TEST(FrameRequest, ThePoseMustBeARotationAndAPlace) {
  const auto with = [](size_t row, size_t column, const nlohmann::json& value) {
    auto pose = good_request()["camera_to_world"];
    pose[row][column] = value;
    return pose;
  };
  expect_refused("camera_to_world", 3, "not a list of 4 rows");
  expect_refused("camera_to_world", {{0, -1, 0, 4}, {1, 0, 0, 5}, {0, 0, 1, 6}}, "not a list of 4 rows");
  expect_refused("camera_to_world", {{0, -1, 0, 4}, {1, 0, 0}, {0, 0, 1, 6}, {0, 0, 0, 1}},
                 "row 1 of camera_to_world");
  expect_refused("camera_to_world", with(0, 3, nullptr), "camera_to_world[0][3] is null");
  expect_refused("camera_to_world", with(0, 3, 1e12), "camera_to_world[0][3] is 1000000000000, expected");
  expect_refused("camera_to_world", with(1, 0, 40), "camera_to_world[1][0] is 40");
  expect_refused("camera_to_world", with(1, 0, 0.9), "does not begin with a rotation");
  expect_refused("camera_to_world", with(2, 2, -1), "does not begin with a rotation");  // a reflection
  expect_refused("camera_to_world", with(3, 3, 0), "the last row of camera_to_world is not 0 0 0 1");
}

}  // namespace
}  // namespace lact::tasks::nvs
