#include "lact/tasks/nvs/session.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/io/picture_sheet.h"
#include "support/errors.h"
#include "support/tiny_nvs.h"

namespace lact::serve {
namespace {

using lact::testing::make_nvs;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;

models::NvsScene scene_of_noise(models::NvsModel& model) {
  const auto views = tiny_scene(3, 8, 12);
  models::NvsScene scene;
  scene.state = model.reconstruct(views.list(), views.intrinsics, views.camera_to_world);
  scene.intrinsics = views.intrinsics;
  scene.camera_to_world = views.camera_to_world;
  scene.sizes.assign(3, {8, 12});
  return scene;
}

TEST(NvsSource, DescribesItsScene) {
  const auto model = make_nvs(tiny_nvs());
  models::NvsScene scene = scene_of_noise(*model);
  scene.scale = 0.5;
  const at::Tensor poses = scene.camera_to_world;
  const NvsSource source(model, std::move(scene), {"toy.fw"});
  const SceneDescription description = source.describe();
  EXPECT_EQ(description.name, "toy.fw");
  EXPECT_EQ(description.details, "3 input views, 2 layers of width 32");
  EXPECT_EQ(description.size_multiple, 4);
  EXPECT_EQ(description.full_side, 12);
  ASSERT_EQ(description.cameras.size(), 3u);
  EXPECT_EQ(description.cameras[1].height, 8);
  EXPECT_TRUE(data::camera_to_world_of(description.cameras).equal(poses));
  EXPECT_EQ(source.frame().scale, 0.5);
}

TEST(NvsSource, RendersWhatTheModelSees) {
  const auto model = make_nvs(tiny_nvs());
  models::NvsScene scene = scene_of_noise(*model);
  const at::Tensor seen = model->render(*scene.state, scene.intrinsics[1], scene.camera_to_world[1], 8, 12);
  NvsSource source(model, std::move(scene), {"toy.fw"});
  const at::Tensor frame = source.render(source.cameras()[1]);
  EXPECT_EQ(frame.scalar_type(), at::kByte);
  EXPECT_TRUE(frame.equal(io::to_bytes(seen)));
  EXPECT_FALSE(frame.equal(source.render(source.cameras()[2])));
}

TEST(NvsSource, MistakesAreSentences) {
  const auto model = make_nvs(tiny_nvs());
  const auto source_with = [&](auto change, int64_t full_side = 0) {
    models::NvsScene scene = scene_of_noise(*model);
    change(scene);
    return NvsSource(model, std::move(scene), {"toy.fw", full_side});
  };
  const auto nothing = [](models::NvsScene&) {};
  EXPECT_SENTENCE(source_with(nothing, 30), "not divisible by the patch of 4");
  EXPECT_SENTENCE(source_with([](auto& scene) { scene.intrinsics[2][0] = -1; }),
                  "toy.fw: view 2: the focal length is -1");
  EXPECT_SENTENCE(source_with([](auto& scene) { scene.camera_to_world[1][0][0] = 7; }), "toy.fw: view 1");
  EXPECT_SENTENCE(source_with([](auto& scene) { scene.world_to_scene[0][0] = 3; }),
                  "toy.fw: the frame of the scene");
  NvsSource source = source_with(nothing);
  data::Camera camera = source.cameras()[0];
  camera.width = 13;
  EXPECT_SENTENCE(source.render(camera), "8 x 13 (height x width) is not divisible");
}

}  // namespace
}  // namespace lact::serve
