#include "lact/data/views/frame_choice.h"

#include <gtest/gtest.h>

#include "lact/base/options.h"
#include "lact/data/views/tracer/random_camera.h"
#include "support/errors.h"

namespace lact::data {
namespace {

constexpr double kNear = 3e-3;  // the point that cameras look at is pulled by a thousandth towards them

void expect_same_poses(const std::vector<Camera>& found, const std::vector<Camera>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t view = 0; view < found.size(); ++view)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        EXPECT_NEAR(found[view].camera_to_world[i][j], expected[view].camera_to_world[i][j], kNear);
}

TEST(FrameChoice, GivenCamerasStay) {
  const auto cameras = tracer::ring_cameras(6, 20, 8, 8);
  expect_same_poses(to_scene(scene_frame(cameras, FrameChoice::given), cameras), cameras);
}

TEST(FrameChoice, MeanPoseIsThatOfTheAuthors) {
  const auto cameras = tracer::random_cameras(3, 6, 8, 8);
  expect_same_poses(to_scene(scene_frame(cameras, FrameChoice::mean_pose), cameras),
                    to_scene(mean_pose_frame(cameras), cameras));
}

TEST(FrameChoice, TheInputsGiveTheFrameToAllViews) {
  const auto cameras = tracer::random_cameras(3, 6, 8, 8);
  const auto seen = in_frame_of_inputs(cameras, 4, FrameChoice::mean_pose);
  const SceneFrame frame = mean_pose_frame({cameras.begin(), cameras.begin() + 4});
  ASSERT_EQ(seen.size(), 6u);
  expect_same_poses(seen, to_scene(frame, cameras));
  EXPECT_GT(std::abs(mean_pose_frame(cameras).scale - frame.scale), 10 * kNear);
  expect_same_poses(in_frame_of_inputs(cameras, 4, FrameChoice::given), cameras);
  EXPECT_SENTENCE(in_frame_of_inputs(cameras, 7, FrameChoice::object), "7 input views");
}

TEST(FrameChoice, CamerasOfTheTracerAreWhereObjectsAreSeenFrom) {
  const auto cameras = tracer::ring_cameras(7, 20, 8, 8);
  expect_same_poses(to_scene(scene_frame(cameras, FrameChoice::object), cameras), cameras);
}

TEST(FrameChoice, ObjectsAreFoundWhereverTheyStandAndHoweverLarge) {
  const auto cameras = tracer::ring_cameras(7, 20, 8, 8);
  // Turned so that x points upwards, moved, and six times as large.
  SceneFrame elsewhere;
  elsewhere.world_to_scene = {{{0, 0, 1, 3}, {1, 0, 0, -2}, {0, 1, 0, 0.5}, {0, 0, 0, 1}}};
  elsewhere.scale = 6;
  const auto moved = to_scene(elsewhere, cameras);
  const auto found = to_scene(object_frame(moved), moved);
  // Only the turn about z is left to choice: places keep distance and height, cameras look at the origin.
  for (size_t view = 0; view < found.size(); ++view) {
    const Point place = column(found[view].camera_to_world, 3),
                wanted = column(cameras[view].camera_to_world, 3);
    EXPECT_NEAR(length(place), tracer::kUsualDistance, kNear);
    EXPECT_NEAR(place[2], wanted[2], kNear);
    EXPECT_NEAR(dot(place, column(found[view].camera_to_world, 2)), -tracer::kUsualDistance, kNear);
    const Point next = column(found[(view + 1) % found.size()].camera_to_world, 3);
    const Point wanted_next = column(cameras[(view + 1) % found.size()].camera_to_world, 3);
    EXPECT_NEAR(cross(place, next)[2], cross(wanted, wanted_next)[2], kNear);
  }
}

TEST(FrameChoice, MistakesAreSentences) {
  EXPECT_SENTENCE(scene_frame({}, FrameChoice::object), "a scene without cameras has no frame");
  EXPECT_SENTENCE(scene_frame({}, FrameChoice::mean_pose), "a scene without cameras has no frame");
  FrameChoice choice{};
  EXPECT_SENTENCE(options::read(options::Json("mean"), choice, "frame"),
                  "expected one of given, mean_pose, object");
}

}  // namespace
}  // namespace lact::data
