#include "lact/tasks/nvs/evaluation/view_scores.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "lact/io/picture_sheet.h"
#include "support/errors.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

data::TestOptions small_test() {
  data::TestOptions options;
  options.height = options.width = 16;
  options.counts = {1, 3};
  options.targets = 2;
  return options;
}

std::vector<NamedNvs> two_models() {
  return {
      {"lact", testing::make_nvs(testing::tiny_nvs(), 3)},
      {"full", testing::make_nvs(testing::tiny_nvs(models::MixerKind::full), 4), data::FrameChoice::given}};
}

/// Everything but times.
auto key_of(const ViewScore& score) {
  return std::tuple(score.model, score.group, score.scene, score.inputs, score.images.psnr,
                    score.images.ssim);
}

TEST(ViewScores, EqualADirectComputation) {
  const auto models = two_models();
  const auto cases = data::procedural_cases(2, small_test());
  const auto scores = view_scores(models, cases);
  ASSERT_THAT(scores, SizeIs(2 * 2 * 2));
  size_t next = 0;
  for (const auto& one : cases) {
    const data::TestViews scene = one.load();
    for (const auto& [name, model, choice] : models) {
      for (const int64_t count : {1, 3}) {
        std::vector<at::Tensor> images;
        std::vector<data::Camera> cameras;
        for (const int64_t view : scene.inputs.at(count)) {
          images.push_back(scene.views.images[view]);
          cameras.push_back(scene.views.cameras[view]);
        }
        const data::SceneFrame frame =
            choice == data::FrameChoice::given ? data::SceneFrame() : data::mean_pose_frame(cameras);
        cameras = data::to_scene(frame, cameras);
        const auto state =
            model->reconstruct(images, data::intrinsics_of(cameras), data::camera_to_world_of(cameras));
        double psnr = 0;
        for (const int64_t target : scene.targets) {
          const data::Camera camera = data::to_scene(frame, scene.views.cameras[target]);
          const at::Tensor picture = model->render(*state, data::intrinsics_of({camera})[0],
                                                   data::camera_to_world_of({camera})[0], 16, 16);
          const double error =
              (picture - scene.views.images[target]).to(at::kDouble).square().mean().item<double>();
          psnr -= 10 * std::log10(error) / double(scene.targets.size());
        }
        const ViewScore& score = scores[next++];
        EXPECT_EQ(score.model, name);
        EXPECT_EQ(score.group, "procedural");
        EXPECT_EQ(score.scene, one.name);
        EXPECT_EQ(score.inputs, count);
        EXPECT_NEAR(score.images.psnr, psnr, 1e-4);
        EXPECT_FALSE(score.images.lpips.has_value());
        EXPECT_GT(score.reconstruct_seconds, 0);
        EXPECT_GT(score.render_seconds, 0);
      }
    }
  }
}

TEST(ViewScores, InputsMatterAndTargetsAreNotRead) {
  const NamedNvs model = two_models()[0];
  data::TestViews scene = data::procedural_cases(1, small_test())[0].load();
  const at::Tensor before = guess_views(model, scene, 3).pictures;
  for (const int64_t target : scene.targets)
    scene.views.images[target] = at::zeros_like(scene.views.images[target]);
  EXPECT_TRUE(at::equal(guess_views(model, scene, 3).pictures, before));
  at::Tensor& input = scene.views.images[scene.inputs[3][1]];
  input = 1 - input;
  EXPECT_FALSE(at::allclose(guess_views(model, scene, 3).pictures, before));
  EXPECT_SENTENCE(guess_views(model, scene, 2), "no choice of 2 input views");
}

TEST(ViewScores, CoordinatesAreThoseOfTheModelsTraining) {
  NamedNvs model = two_models()[0];
  data::TestViews scene = data::procedural_cases(1, small_test())[0].load();
  const auto guess = [&](data::FrameChoice choice) {
    model.frame = choice;
    return guess_views(model, scene, 3).pictures;
  };
  const at::Tensor given = guess(data::FrameChoice::given), mean = guess(data::FrameChoice::mean_pose);
  EXPECT_FALSE(at::allclose(given, mean));
  EXPECT_TRUE(at::equal(guess(data::FrameChoice::object), given));
  // The same scene in another world.
  const data::SceneFrame elsewhere = {data::look_at({1, -2, 5}, {0, 1, 0}, {0.2, 0.1, 1}), 7};
  const auto cameras = scene.views.cameras;
  scene.views.cameras = data::to_scene(elsewhere, cameras);
  scene.object = {data::inverse(elsewhere.world_to_scene), 1};
  for (int i = 0; i < 3; ++i) scene.object.world_to_scene[i][3] *= elsewhere.scale;
  scene.object.scale = 1 / elsewhere.scale;
  for (size_t i = 0; i < cameras.size(); ++i)
    EXPECT_NEAR(data::to_scene(scene.object, scene.views.cameras[i]).camera_to_world[1][3],
                cameras[i].camera_to_world[1][3], 1e-9);
  EXPECT_LT((guess(data::FrameChoice::object) - given).abs().max().item<float>(), 1e-3);
  EXPECT_LT((guess(data::FrameChoice::mean_pose) - mean).abs().max().item<float>(), 1e-3);
  EXPECT_FALSE(at::allclose(guess(data::FrameChoice::given), given));
}

TEST(ViewScores, TheOrderOfScenesChangesNoScore) {
  const auto models = two_models();
  auto cases = data::procedural_cases(3, small_test());
  const auto scores = view_scores(models, cases);
  std::rotate(cases.begin(), cases.begin() + 1, cases.end());
  const auto rotated = view_scores(models, cases);
  ASSERT_EQ(scores.size(), rotated.size());
  const size_t of_one_scene = scores.size() / 3;
  for (size_t i = 0; i < scores.size(); ++i)
    EXPECT_EQ(key_of(scores[(i + of_one_scene) % scores.size()]), key_of(rotated[i]));
}

TEST(ViewScores, CountsThatASceneHasTooFewViewsForAreLeftOut) {
  auto cases = data::procedural_cases(2, small_test());
  cases[0].counts = {3};
  cases[1].counts = {};
  const auto scores = view_scores({two_models()[0]}, cases);
  ASSERT_THAT(scores, SizeIs(1));
  EXPECT_EQ(scores[0].inputs, 3);
  cases[0].counts = {};
  EXPECT_SENTENCE(view_scores(two_models(), cases), "no scene has as many views as are to be read");
}

TEST(ViewScores, ProgressCountsViewsAndEndsAtTheTotal) {
  std::vector<int64_t> steps;
  ViewScoresOptions options;
  options.on_progress = [&](int64_t done, int64_t total, const std::string& scene) {
    EXPECT_EQ(total, 2 * ((1 + 2) + (3 + 2)));
    EXPECT_EQ(scene, "0");
    steps.push_back(done);
  };
  view_scores(two_models(), data::procedural_cases(1, small_test()), options);
  EXPECT_THAT(steps, ElementsAre(0, 3, 8, 11, 16));
}

TEST(ViewScores, SheetsShowTheTruthAndWhatEachModelGuessed) {
  const auto models = two_models();
  const auto cases = data::procedural_cases(1, small_test());
  std::vector<at::Tensor> sheets;
  ViewScoresOptions options;
  options.on_sheet = [&](const data::TestCase& one, const at::Tensor& sheet) {
    EXPECT_EQ(one.name, "0");
    sheets.push_back(sheet);
  };
  view_scores(models, cases, options);
  ASSERT_THAT(sheets, SizeIs(1));
  constexpr int64_t kGap = 2, kStep = 16 + kGap;  // of io::picture_sheet
  ASSERT_EQ(sheets[0].sizes(), (std::vector<int64_t>{4 * kStep - kGap, 3 * kStep - kGap, 3}));
  const data::TestViews scene = cases[0].load();
  const auto expect_at = [&](int64_t row, int64_t column, const at::Tensor& picture) {
    EXPECT_TRUE(
        at::equal(sheets[0].narrow(0, row * kStep, 16).narrow(1, column * kStep, 16), io::to_bytes(picture)))
        << row << " " << column;
  };
  for (int64_t target = 0; target < 2; ++target) {
    for (int64_t i = 0; i < 2; ++i) {
      expect_at(2 * target + i, 0, scene.views.images[scene.targets[target]]);
      expect_at(2 * target + i, 1, guess_views(models[i], scene, 1).pictures[target]);
      expect_at(2 * target + i, 2, guess_views(models[i], scene, 3).pictures[target]);
    }
  }
}

TEST(ViewScores, MistakesAreSentences) {
  auto options = small_test();
  options.width = 18;
  EXPECT_SENTENCE(view_scores(two_models(), data::procedural_cases(1, options)), "18");
  EXPECT_SENTENCE(view_scores({}, data::procedural_cases(1, small_test())), "no model is given");
  EXPECT_SENTENCE(view_scores(two_models(), {}), "no scene");
}

std::vector<ViewScore> written_scores() {
  return {{"b", "fox", "fox", 4, {20, 0.5, {}}, 1, 0.25},    {"a", "cubes", "0", 2, {10, 0.2, 0.6}, 1, 0.25},
          {"a", "cubes", "1", 2, {14, 0.4, 0.2}, 2, 0.5},    {"a", "cubes", "2", 2, {18, 0.6, 0.1}, 9, 9},
          {"a", "cubes", "0", 1, {8, 0.1, 0.9}, 0.5, 0.125}, {"b", "cubes", "0", 2, {11, 0.3, 0.5}, 4, 1}};
}

TEST(ViewScores, SummariesAreMeansOfScoresAndMediansOfTimes) {
  const auto summaries = summarize(written_scores());
  std::vector<std::string> order;
  for (const auto& one : summaries)
    order.push_back(fmt::format("{} {} {} {}", one.group, one.model, one.inputs, one.scenes));
  EXPECT_THAT(order, ElementsAre("fox b 4 1", "cubes b 2 1", "cubes a 1 1", "cubes a 2 3"));
  const ViewSummary& three = summaries[3];
  EXPECT_NEAR(three.images.psnr, 14, 1e-12);
  EXPECT_NEAR(three.images.ssim, 0.4, 1e-12);
  EXPECT_NEAR(three.images.lpips.value(), 0.3, 1e-12);
  EXPECT_EQ(three.reconstruct_seconds, 2);
  EXPECT_EQ(three.render_seconds, 0.5);
  EXPECT_FALSE(summaries[0].images.lpips.has_value());
}

TEST(ViewScores, TheMedianOfTwoTimesLiesBetweenThem) {
  const auto summaries =
      summarize({{"a", "cubes", "0", 2, {10, 0.5, {}}, 2, 1}, {"a", "cubes", "1", 2, {10, 0.5, {}}, 4, 2}});
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].reconstruct_seconds, 3);
  EXPECT_EQ(summaries[0].render_seconds, 1.5);
}

TEST(ViewScores, PlotsHaveALinePerModel) {
  const eval::Plot psnr = view_psnr_plot(summarize(written_scores()), "cubes");
  ASSERT_THAT(psnr.series, SizeIs(2));
  EXPECT_EQ(psnr.series[1].name, "a");
  EXPECT_THAT(psnr.series[1].x, ElementsAre(1, 2));
  EXPECT_THAT(psnr.series[1].y, ElementsAre(8, ::testing::DoubleNear(14, 1e-12)));
  const eval::Plot reading = reconstruct_time_plot(written_scores());
  ASSERT_THAT(reading.series, SizeIs(2));
  EXPECT_EQ(reading.series[0].name, "b");
  EXPECT_THAT(reading.series[0].x, ElementsAre(2, 4));
  EXPECT_THAT(reading.series[0].y, ElementsAre(4, 1));
  EXPECT_THAT(render_time_plot(written_scores()).series[1].y, ElementsAre(0.125, 0.5));
}

}  // namespace
}  // namespace lact::tasks::nvs
