#include "lact/data/views/scene_source.h"

#include <gtest/gtest.h>

#include <set>

#include "lact/base/options.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using testing::TemporaryFolder;

class SceneSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a.obj", "b.obj", "c.obj", "d.obj", "e.obj"}) {
      testing::write_file(folder_ / name, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    }
    config_.meshes = {folder_ / ""};
    config_.mesh_share = 0.5;
    config_.holdout = 2;
  }

  TemporaryFolder folder_;
  SceneSourceConfig config_;
};

TEST_F(SceneSourceTest, ShareOfScenesShowMeshesOfTheRightPart) {
  const SceneSource train(config_, ScenePart::kTrain), held_out(config_, ScenePart::kHoldout);
  EXPECT_EQ(train.num_meshes(), 3);
  EXPECT_EQ(held_out.num_meshes(), 2);
  std::set<const tracer::Mesh*> shown;
  int meshes = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const tracer::Scene scene = train.scene(seed);
    meshes += scene.meshes.empty() ? 0 : 1;
    if (!scene.meshes.empty()) shown.insert(scene.meshes[0].mesh.get());
  }
  EXPECT_GT(meshes, 70);
  EXPECT_LT(meshes, 130);
  EXPECT_EQ(shown.size(), 3U);
}

TEST_F(SceneSourceTest, SeedsGiveTheSameSceneAndThePartsDiffer) {
  config_.mesh_share = 0;
  const SceneSource train(config_, ScenePart::kTrain), again(config_, ScenePart::kTrain);
  const SceneSource held_out(config_, ScenePart::kHoldout);
  const auto mark = [](const tracer::Scene& scene) { return scene.ambient_sky.x; };
  EXPECT_EQ(mark(train.scene(5)), mark(again.scene(5)));
  EXPECT_NE(mark(train.scene(5)), mark(train.scene(6)));
  EXPECT_NE(mark(train.scene(5)), mark(held_out.scene(5)));
}

TEST_F(SceneSourceTest, CertainMeshesCanBeAskedFor) {
  const SceneSource held_out(config_, ScenePart::kHoldout);
  EXPECT_EQ(held_out.mesh_scene(1, 3).meshes.size(), 1U);
  EXPECT_NE(held_out.mesh_file(0).name, held_out.mesh_file(1).name);
  EXPECT_SENTENCE(held_out.mesh_scene(2, 3), "mesh 2 is asked for, but there are 2");
}

TEST_F(SceneSourceTest, BadConfigsGiveASentence) {
  const auto source = [&](ScenePart part = ScenePart::kTrain) { return SceneSource(config_, part); };
  config_.holdout = 0;
  EXPECT_EQ(source().num_meshes(), 5);
  EXPECT_SENTENCE(source(ScenePart::kHoldout), "no mesh is held out");
  config_.mesh_share = 1.5;
  EXPECT_SENTENCE(source(), "mesh_share is 1.5, expected 0 to 1");
  config_.mesh_share = 1;
  config_.meshes = {};
  EXPECT_SENTENCE(source(), "no meshes are given");
}

TEST_F(SceneSourceTest, ConfigGoesThroughJson) {
  config_.holdout_names = {"b.obj"};
  SceneSourceConfig read;
  options::read(options::write(config_), read);
  EXPECT_EQ(read, config_);
}

}  // namespace
}  // namespace lact::data
