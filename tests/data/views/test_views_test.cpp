#include "lact/data/views/test_views.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lact/data/views/frame_choice.h"
#include "support/errors.h"
#include "support/photo_folder.h"
#include "support/temporary_folder.h"

namespace lact::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TemporaryFolder;

TestOptions small_test() {
  TestOptions options;
  options.height = options.width = 16;
  options.counts = {4, 2, 4};
  options.targets = 3;
  return options;
}

void expect_fits(const TestViews& scene, const TestCase& wanted) {
  EXPECT_THAT(scene.targets, SizeIs(size_t(wanted.targets)));
  ASSERT_EQ(scene.views.images.size(), scene.views.cameras.size());
  std::set<int64_t> used(scene.targets.begin(), scene.targets.end());
  std::vector<int64_t> counts;
  for (const auto& [count, views] : scene.inputs) {
    counts.push_back(count);
    EXPECT_EQ(std::set<int64_t>(views.begin(), views.end()).size(), size_t(count));
    for (const int64_t view : views)
      EXPECT_EQ(std::count(scene.targets.begin(), scene.targets.end(), view), 0);
    used.insert(views.begin(), views.end());
  }
  EXPECT_EQ(counts, wanted.counts);
  EXPECT_EQ(used.size(), scene.views.images.size());
  EXPECT_EQ(*used.rbegin() + 1, int64_t(used.size()));
}

TEST(TestViews, ProceduralScenesSplitIntoTargetsAndInputs) {
  const auto cases = procedural_cases(2, small_test());
  ASSERT_THAT(cases, SizeIs(2));
  for (const auto& one : cases) {
    EXPECT_EQ(one.group, "procedural");
    EXPECT_THAT(one.counts, ElementsAre(2, 4));
    EXPECT_THAT(one.left_out, IsEmpty());
    const TestViews scene = one.load();
    expect_fits(scene, one);
    for (const auto& image : scene.views.images) EXPECT_EQ(image.sizes(), (std::vector<int64_t>{3, 16, 16}));
  }
  EXPECT_FALSE(at::equal(cases[0].load().views.images[0], cases[1].load().views.images[0]));
  EXPECT_THAT(procedural_cases(0, small_test()), IsEmpty());
}

TEST(TestViews, ASeedGivesTheSameSceneAgain) {
  auto options = small_test();
  const TestViews scene = procedural_cases(1, options)[0].load();
  const TestViews again = procedural_cases(3, options)[0].load();
  EXPECT_TRUE(at::equal(at::stack(scene.views.images), at::stack(again.views.images)));
  EXPECT_EQ(scene.inputs, again.inputs);
  options.seed = 1;
  EXPECT_FALSE(at::equal(scene.views.images[0], procedural_cases(1, options)[0].load().views.images[0]));
}

TEST(TestViews, MeshesAreThoseThatTrainingHoldsOut) {
  const TemporaryFolder folder;
  for (const char* name : {"a.obj", "b.obj", "c.obj", "d.obj", "e.obj"})
    testing::write_file(folder / name, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\n");
  SceneSourceConfig config;
  config.meshes = {folder / ""};
  config.holdout = 2;
  const SceneSource held_out(config, ScenePart::kHoldout);
  const auto cases = mesh_cases(config, small_test());
  ASSERT_THAT(cases, SizeIs(2));
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cases[i].group, "meshes");
    EXPECT_EQ(cases[i].name, held_out.mesh_file(i).name);
    expect_fits(cases[i].load(), cases[i]);
  }
  config.holdout = 0;
  EXPECT_SENTENCE(mesh_cases(config, small_test()), "no mesh is held out");
  config.meshes = {folder / "none"};
  EXPECT_SENTENCE(mesh_cases(config, small_test()), "none");
}

TEST(TestViews, PhotosAreReadAndTargetsAreEveryEighth) {
  const TemporaryFolder folder;
  const auto photos = testing::write_photo_folder(folder / "fox", 18, 16, 24);
  auto options = small_test();
  options.width = 24;
  options.counts = {2, 15, 16};
  const auto cases = photo_cases({folder / "fox", folder / "fox/opencv_cameras.json"}, {}, options);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].group, "fox");
  EXPECT_EQ(cases[1].group, "fox (2)");
  EXPECT_THAT(cases[0].counts, ElementsAre(2, 15));
  EXPECT_THAT(cases[0].left_out, ElementsAre(16));
  const TestViews scene = cases[0].load();
  expect_fits(scene, cases[0]);
  EXPECT_THAT(scene.targets, ElementsAre(0, 8, 16));
  ASSERT_THAT(scene.views.images, SizeIs(18));
  for (size_t i = 0; i < 18; ++i) {
    EXPECT_LT((scene.views.images[i] - photos.images[i]).abs().max().item<float>(), 0.6 / 255);
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(scene.views.cameras[i].camera_to_world[j][3], photos.cameras[i].camera_to_world[j][3],
                  1e-5);
  }
}

TEST(TestViews, OnlyPhotosThatAreUsedAreRead) {
  const TemporaryFolder folder;
  testing::write_photo_folder(folder / "fox", 18, 16, 16);
  auto options = small_test();
  options.counts = {2};
  options.targets = 1;
  const auto one = photo_cases({folder / "fox"}, {}, options)[0];
  const TestViews scene = one.load();
  expect_fits(scene, one);
  EXPECT_THAT(scene.views.images, SizeIs(3));
}

TEST(TestViews, TheTracersScenesAreObjectsAndPhotosAreMadeSo) {
  const TemporaryFolder folder;
  const auto photos = testing::write_photo_folder(folder / "fox", 10, 16, 16);
  const auto matrix = [](const SceneFrame& frame) {
    std::vector<double> numbers = {frame.scale};
    for (const auto& row : frame.world_to_scene) numbers.insert(numbers.end(), row.begin(), row.end());
    return numbers;
  };
  EXPECT_EQ(matrix(procedural_cases(1, small_test())[0].load().object), matrix({}));
  const auto found = matrix(photo_cases({folder / "fox"}, {}, small_test())[0].load().object);
  EXPECT_THAT(found, ::testing::Pointwise(::testing::DoubleNear(1e-5), matrix(object_frame(photos.cameras))));
}

TEST(TestViews, MistakesAreSentences) {
  const TemporaryFolder folder;
  auto options = small_test();
  options.counts = {2, 0};
  EXPECT_SENTENCE(procedural_cases(1, options), "0 input views are asked for, expected 1 to 4096");
  options.counts = {};
  EXPECT_SENTENCE(procedural_cases(1, options), "no number of input views is given");
  options = small_test();
  options.targets = 0;
  EXPECT_SENTENCE(photo_cases({"nowhere"}, {}, options), "0 target views are asked for");
  options = small_test();
  options.height = 0;
  EXPECT_SENTENCE(mesh_cases({}, options), "views of 16 x 0 pixels are asked for");
  EXPECT_SENTENCE(procedural_cases(-1, small_test()), "-1 scenes are asked for");
  EXPECT_SENTENCE(mesh_cases({}, small_test()), "no meshes are given");
  EXPECT_SENTENCE(photo_cases({folder / "nowhere"}, {}, small_test()), "nowhere");
  testing::write_photo_folder(folder / "one", 1, 16, 16);
  EXPECT_SENTENCE(photo_cases({folder / "one"}, {}, small_test()), "the scene has 1 view, expected at least");
}

}  // namespace
}  // namespace lact::data
