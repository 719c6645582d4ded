#include "lact/data/views/photo_source.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "lact/data/views/view_source.h"
#include "support/errors.h"
#include "support/photo_folder.h"

namespace lact::data {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_photo_folder;

constexpr int64_t kPhotoHeight = 8, kPhotoWidth = 16;
const StopCheck kNeverStop = [] {};

/// Two captures of 12 photos, a and b.
class PhotoSourceTest : public ::testing::Test {
 protected:
  PhotoSourceTest() {
    photos_["a"] = write_photo_folder(folder_ / "captures/a", 12, kPhotoHeight, kPhotoWidth, 1);
    photos_["b"] = write_photo_folder(folder_ / "captures/b", 12, kPhotoHeight, kPhotoWidth, 2);
    config_.photo_share = 1;
    config_.photos = {folder_ / "captures"};
    config_.photo_holdout = 0;
  }

  static BatchShape shape(int64_t inputs, int64_t targets) {
    return {.scenes = 1,
            .views = inputs + targets,
            .height = kPhotoHeight,
            .width = kPhotoWidth,
            .inputs = inputs};
  }

  struct Drawn {
    std::string scene;
    std::vector<int64_t> photos;
    std::vector<Camera> cameras;
    at::Tensor images;
  };

  /// Finds out by the pictures which photos they are.
  Drawn draw(const PhotoSource& source, uint64_t seed, const BatchShape& shape) const {
    Drawn drawn;
    drawn.images = at::empty({shape.views, 3, shape.height, shape.width});
    drawn.cameras = source.draw(seed, shape, kNeverStop, drawn.images.data_ptr<float>());
    for (int64_t i = 0; i < shape.views; ++i) {
      for (const auto& [name, photos] : photos_) {
        for (size_t k = 0; k < photos.images.size(); ++k) {
          if ((drawn.images[i] - photos.images[k]).abs().max().item<float>() > 0.51f / 255) continue;
          drawn.photos.push_back(int64_t(k));
          EXPECT_TRUE(drawn.scene.empty() || drawn.scene == name) << "one scene at a time";
          drawn.scene = name;
        }
      }
    }
    EXPECT_EQ(int64_t(drawn.photos.size()), shape.views);
    return drawn;
  }

  TemporaryFolder folder_;
  std::map<std::string, PosedImages> photos_;
  PhotoConfig config_;
};

TEST_F(PhotoSourceTest, InputsAndTargetsAreApartAndComeFromOneCapture) {
  const PhotoSource source(config_, ScenePart::kTrain, FrameChoice::given);
  std::set<std::string> scenes;
  std::set<int64_t> inputs, targets;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Drawn drawn = draw(source, seed, shape(3, 2));
    scenes.insert(drawn.scene);
    EXPECT_EQ(std::set<int64_t>(drawn.photos.begin(), drawn.photos.end()).size(), 5u);
    inputs.insert(drawn.photos.begin(), drawn.photos.begin() + 3);
    targets.insert(drawn.photos.begin() + 3, drawn.photos.end());
    // The cameras are those of the photos.
    for (size_t i = 0; i < 5; ++i) {
      const Camera& expected = photos_.at(drawn.scene).cameras[size_t(drawn.photos[i])];
      EXPECT_NEAR(drawn.cameras[i].fx, expected.fx, 1e-9);
      EXPECT_NEAR(drawn.cameras[i].camera_to_world[0][3], expected.camera_to_world[0][3], 1e-9);
    }
    EXPECT_TRUE(draw(source, seed, shape(3, 2)).images.equal(drawn.images)) << "of the seed alone";
  }
  EXPECT_EQ(scenes, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(inputs.size(), 12u);
  EXPECT_EQ(targets.size(), 12u);
}

TEST_F(PhotoSourceTest, AStretchOfTheCaptureIsSeen) {
  config_.stretch = CountRange(5, 6);
  const PhotoSource source(config_, ScenePart::kTrain, FrameChoice::given);
  std::set<int64_t> firsts, lengths;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const Drawn drawn = draw(source, seed, shape(3, 2));
    const auto [low, high] = std::minmax_element(drawn.photos.begin(), drawn.photos.end());
    firsts.insert(*low);
    lengths.insert(*high - *low + 1);
  }
  EXPECT_EQ(lengths, (std::set<int64_t>{5, 6}));
  EXPECT_EQ(firsts, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // A stretch that is too short for the views is as long as they need.
  config_.stretch = 2;
  const PhotoSource tight(config_, ScenePart::kTrain, FrameChoice::given);
  const Drawn all = draw(tight, 1, shape(8, 4));
  EXPECT_EQ(std::set<int64_t>(all.photos.begin(), all.photos.end()).size(), 12u);
}

TEST_F(PhotoSourceTest, WholeCapturesAreHeldOut) {
  config_.photo_holdout = 1;
  const PhotoSource train(config_, ScenePart::kTrain, FrameChoice::given),
      valid(config_, ScenePart::kHoldout, FrameChoice::given);
  ASSERT_EQ(train.num_scenes(), 1);
  ASSERT_EQ(valid.num_scenes(), 1);
  EXPECT_NE(train.name(0), valid.name(0));
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(draw(train, seed, shape(2, 2)).scene, train.name(0));
    EXPECT_EQ(draw(valid, seed, shape(2, 2)).scene, valid.name(0));
  }
}

TEST_F(PhotoSourceTest, PhotosOfEachCaptureAreHeldOut) {
  config_.photo_every = 5;
  const PhotoSource train(config_, ScenePart::kTrain, FrameChoice::given),
      valid(config_, ScenePart::kHoldout, FrameChoice::given);
  const std::set<int64_t> held_out = {0, 5, 10};
  std::set<int64_t> guessed;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const int64_t photo : draw(train, seed, shape(4, 4)).photos) EXPECT_FALSE(held_out.contains(photo));
    const auto photos = draw(valid, seed, shape(4, 2)).photos;
    for (size_t i = 0; i < 4; ++i) EXPECT_FALSE(held_out.contains(photos[i]));
    guessed.insert(photos.begin() + 4, photos.end());
  }
  EXPECT_EQ(guessed, held_out);
}

TEST_F(PhotoSourceTest, ScenesAreSeenInTheFrameOfTheirInputs) {
  const PhotoSource source(config_, ScenePart::kTrain, FrameChoice::mean_pose);
  const Drawn drawn = draw(source, 3, shape(3, 4));
  for (int axis = 0; axis < 3; ++axis) {
    double mean = 0;
    for (size_t i = 0; i < 3; ++i) mean += drawn.cameras[i].camera_to_world[size_t(axis)][3] / 3;
    EXPECT_NEAR(mean, 0, 1e-9);
  }
  // That of an object is found from all cameras of the capture, whichever are drawn.
  const PhotoSource object(config_, ScenePart::kTrain, FrameChoice::object);
  const Drawn other = draw(object, 3, shape(3, 4));
  const auto all = photos_.at(other.scene).cameras;
  const auto expected = to_scene(object_frame(all), all);
  for (size_t i = 0; i < 7; ++i)
    EXPECT_NEAR(other.cameras[i].camera_to_world[2][3],
                expected[size_t(other.photos[i])].camera_to_world[2][3], 1e-6);
}

TEST_F(PhotoSourceTest, TheCacheChangesNothingButTheMemory) {
  config_.photo_cache = 0;
  const PhotoSource small(config_, ScenePart::kTrain, FrameChoice::given);
  config_.photo_cache = 64;
  const PhotoSource large(config_, ScenePart::kTrain, FrameChoice::given);
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_TRUE(draw(small, seed, shape(3, 2)).images.equal(draw(large, seed, shape(3, 2)).images));
  EXPECT_LT(small.cached_bytes(), large.cached_bytes());
  EXPECT_LE(large.cached_bytes(), 24u * (3 * kPhotoHeight * kPhotoWidth + sizeof(SizedView)));
}

TEST_F(PhotoSourceTest, PartsOfPhotosHaveTheCamerasThatSeeThem) {
  constexpr uint64_t kScene = 3;
  write_photo_folder(folder_ / "large", 6, 64, 128, kScene);
  config_.photos = {folder_ / "large"};
  config_.zoom = 1;
  const PhotoSource source(config_, ScenePart::kTrain, FrameChoice::given);
  const BatchShape small = {.scenes = 1, .views = 4, .height = 32, .width = 64, .inputs = 2};
  const at::Tensor images = at::empty({4, 3, 32, 64}), again = at::empty_like(images);
  std::set<double> widths;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto cameras = source.draw(seed, small, kNeverStop, images.data_ptr<float>());
    // The scene as these cameras see it.
    const auto seen = tracer::render_views(tracer::random_scene(kScene), cameras);
    const auto wrong =
        tracer::render_views(tracer::random_scene(kScene), {cameras[1], cameras[0], cameras[3], cameras[2]});
    const auto error = [&](const PosedImages& views) {
      return (at::stack(views.images) - images).square().mean().item<double>();
    };
    EXPECT_LT(error(seen), 4e-3);
    EXPECT_GT(error(wrong), 4 * error(seen));
    for (const Camera& camera : cameras) widths.insert(camera.fx);
    source.draw(seed, small, kNeverStop, again.data_ptr<float>());
    EXPECT_TRUE(again.equal(images)) << "of the seed alone";
  }
  EXPECT_GT(*widths.rbegin() / *widths.begin(), 1.3);
  // Validation sees whole photos.
  config_.photo_every = 3;
  const PhotoSource valid(config_, ScenePart::kHoldout, FrameChoice::given);
  const auto whole = valid.draw(1, small, kNeverStop, images.data_ptr<float>());
  for (const Camera& camera : whole) EXPECT_NEAR(camera.cx, 32, 1e-6);
}

TEST_F(PhotoSourceTest, ATurnedSceneIsTheSameSceneFromTheSameSides) {
  const PhotoSource plain(config_, ScenePart::kTrain, FrameChoice::object);
  config_.turn = 180;
  const PhotoSource turned(config_, ScenePart::kTrain, FrameChoice::object);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Drawn before = draw(plain, seed, shape(3, 2)), after = draw(turned, seed, shape(3, 2));
    ASSERT_EQ(before.photos, after.photos);
    const auto between = [](const Drawn& drawn) {
      return at::matmul(camera_to_world_of(drawn.cameras)[0].inverse(), camera_to_world_of(drawn.cameras));
    };
    EXPECT_LT((between(before) - between(after)).abs().max().item<double>(), 1e-4);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(before.cameras[i].camera_to_world[2][3], after.cameras[i].camera_to_world[2][3], 1e-6);
    }
    EXPECT_GT(std::abs(before.cameras[0].camera_to_world[0][3] - after.cameras[0].camera_to_world[0][3]),
              1e-3);
  }
}

TEST_F(PhotoSourceTest, WhatCannotWorkIsSaid) {
  const PhotoSource source(config_, ScenePart::kTrain, FrameChoice::given);
  source.check_counts(8, 4);
  EXPECT_SENTENCE(source.check_counts(8, 5), "has 12 photos in all, but 8 input and 5 target views");
  EXPECT_SENTENCE(PhotoSource(config_, ScenePart::kHoldout, FrameChoice::given),
                  "no capture is held out, so there is none to validate on");
  config_.photo_every = 4;
  EXPECT_SENTENCE(PhotoSource(config_, ScenePart::kTrain, FrameChoice::given).check_counts(8, 4),
                  "has 9 photos that are not held out");
  config_.photo_every = 1;
  EXPECT_SENTENCE(config_.check(), "photo_every is 1");
  config_.photo_every = 0, config_.zoom = -1;
  EXPECT_SENTENCE(config_.check(), "zoom is -1");
  config_.zoom = 0, config_.turn = 200;
  EXPECT_SENTENCE(config_.check(), "turn is 200");
  config_ = PhotoConfig();
  config_.photo_share = 0.5;
  EXPECT_SENTENCE(config_.check(), "no photos are given");
}

TEST_F(PhotoSourceTest, PhotosAndRenderedScenesMixByTheirShares) {
  config_.photo_share = 0.3;
  const ViewSource mixed({}, config_, FrameChoice::mean_pose, ScenePart::kTrain);
  const PhotoSource photos(config_, ScenePart::kTrain, FrameChoice::mean_pose);
  const BatchShape both = shape(2, 1);
  int found = 0;
  constexpr int kScenes = 100;
  for (uint64_t seed = 0; seed < kScenes; ++seed) {
    const at::Tensor images = at::empty({3, 3, kPhotoHeight, kPhotoWidth});
    mixed.draw(seed, both, kNeverStop, images.data_ptr<float>());
    // Photos are bytes; what the tracer draws is not.
    found += (images * 255 - (images * 255).round()).abs().max().item<float>() < 1e-3f;
  }
  EXPECT_NEAR(found, 30, 13);
  // Without photos, everything is as it was before there were any.
  const ViewSource rendered({}, {}, FrameChoice::given, ScenePart::kTrain);
  const auto source = std::make_shared<SceneSource>(SceneSourceConfig{}, ScenePart::kTrain);
  const auto traced = traced_views([source](uint64_t seed) { return source->scene(seed); });
  const at::Tensor first = at::empty({3, 3, kPhotoHeight, kPhotoWidth}),
                   second = at::empty({3, 3, kPhotoHeight, kPhotoWidth});
  rendered.draw(5, both, kNeverStop, first.data_ptr<float>());
  traced(5, both, kNeverStop, second.data_ptr<float>());
  EXPECT_TRUE(first.equal(second));
}

}  // namespace
}  // namespace lact::data
