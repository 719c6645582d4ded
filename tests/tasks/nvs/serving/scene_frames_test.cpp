#include "lact/tasks/nvs/serving/scene_frames.h"

#include <ATen/ATen.h>

#include "lact/data/views/preprocess.h"
#include "support/errors.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::make_nvs;
using lact::testing::scene_of_noise;
using lact::testing::tiny_nvs;

TEST(SceneFrames, DescribesTheScene) {
  const auto model = make_nvs(tiny_nvs());
  models::NvsScene scene = scene_of_noise(*model);
  scene.scale = 0.5;
  const at::Tensor poses = scene.camera_to_world;
  const Session session(model, std::move(scene), "toy.fw");
  const SceneDescription description = SceneFrames(session).describe();
  EXPECT_EQ(description.name, "toy.fw");
  EXPECT_EQ(description.details, "3 input views, 2 layers of width 32");
  EXPECT_EQ(description.size_multiple, 4);
  EXPECT_EQ(description.full_side, 12);
  ASSERT_EQ(description.cameras.size(), 3u);
  EXPECT_EQ(description.cameras[1].height, 8);
  EXPECT_TRUE(data::camera_to_world_of(description.cameras).equal(poses));
  EXPECT_EQ(session.frame().scale, 0.5);
}

TEST(SceneFrames, AFrameAtRestIsAsLargeAsAskedFor) {
  const auto model = make_nvs(tiny_nvs());
  const Session session(model, scene_of_noise(*model), "toy.fw");
  SceneFrames frames(session, 20);
  EXPECT_EQ(frames.describe().full_side, 20);
  EXPECT_TRUE(frames.render(session.cameras()[1]).equal(session.render(session.cameras()[1])));
  EXPECT_SENTENCE(SceneFrames(session, 30), "not divisible by the patch of 4");
}

}  // namespace
}  // namespace lact::tasks::nvs
