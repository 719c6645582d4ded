#include "lact/tasks/nvs/session.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/io/picture_sheet.h"
#include "support/errors.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::make_nvs;
using lact::testing::scene_of_noise;
using lact::testing::tiny_nvs;

TEST(NvsSession, RendersWhatTheModelSees) {
  const auto model = make_nvs(tiny_nvs());
  models::NvsScene scene = scene_of_noise(*model);
  const at::Tensor seen = model->render(*scene.state, scene.intrinsics[1], scene.camera_to_world[1], 8, 12);
  const Session session(model, std::move(scene), "toy.fw");
  const at::Tensor frame = session.render(session.cameras()[1]);
  EXPECT_EQ(frame.scalar_type(), at::kByte);
  EXPECT_TRUE(frame.equal(io::to_bytes(seen)));
  EXPECT_FALSE(frame.equal(session.render(session.cameras()[2])));
}

TEST(NvsSession, MistakesAreSentences) {
  const auto model = make_nvs(tiny_nvs());
  const auto session_with = [&](auto change) {
    models::NvsScene scene = scene_of_noise(*model);
    change(scene);
    return Session(model, std::move(scene), "toy.fw");
  };
  const auto nothing = [](models::NvsScene&) {};
  EXPECT_SENTENCE(session_with([](auto& scene) { scene.intrinsics[2][0] = -1; }),
                  "toy.fw: view 2: the focal length is -1");
  EXPECT_SENTENCE(session_with([](auto& scene) { scene.camera_to_world[1][0][0] = 7; }), "toy.fw: view 1");
  EXPECT_SENTENCE(session_with([](auto& scene) { scene.world_to_scene[0][0] = 3; }),
                  "toy.fw: the frame of the scene");
  const Session session = session_with(nothing);
  data::Camera camera = session.cameras()[0];
  camera.width = 13;
  EXPECT_SENTENCE(session.render(camera), "8 x 13 (height x width) is not divisible");
}

}  // namespace
}  // namespace lact::tasks::nvs
