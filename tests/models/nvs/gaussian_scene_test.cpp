#include "lact/models/nvs/gaussian_scene.h"

#include <filesystem>

#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/model.h"
#include "lact/models/nvs/scene_file.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_nvs;
using lact::testing::make_precise_nvs;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;
using lact::testing::TinyScene;

NvsConfig with_gaussians(NvsConfig config, int64_t virtual_views = 0) {
  config.head = NvsHead::gaussians;
  config.gaussians.virtual_views = virtual_views;
  config.gaussians.scale_bias = -2;
  config.gaussians.opacity_bias = 0;
  return config;
}

/// The last `targets` views are to be shown.
SceneViews training_views(const TinyScene& scene, int64_t targets) {
  return {scene.images.narrow(0, 0, scene.images.size(0) - targets).unsqueeze(0),
          scene.intrinsics.unsqueeze(0), scene.camera_to_world.unsqueeze(0)};
}

std::unique_ptr<NvsState> read_first(ViewModel& model, const TinyScene& scene, int64_t inputs,
                                     int64_t piece_tokens = 1 << 20) {
  ReconstructOptions options;
  options.piece_tokens = piece_tokens;
  const auto images = scene.list();
  return model.reconstruct({images.begin(), images.begin() + inputs}, scene.intrinsics.narrow(0, 0, inputs),
                           scene.camera_to_world.narrow(0, 0, inputs), options);
}

/// Every mixer, with Gaussians of the inputs and of two virtual views.
template <class Check>
void each_gaussian_model(const Check& check) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    for (const int64_t virtual_views : {0, 2}) {
      if (mixer == MixerKind::perceiver && virtual_views == 0) continue;
      SCOPED_TRACE(fmt::format("{}, {} virtual views", options::word_of(mixer), virtual_views));
      check(with_gaussians(tiny_nvs(mixer), virtual_views));
    }
  }
}

TEST(GaussianScene, ReconstructAndRenderIsTheTrainingPrediction) {
  const auto scene = tiny_scene(4, 8, 12, at::kDouble);
  each_gaussian_model([&](const NvsConfig& config) {
    const auto model = make_precise_nvs(config);
    const at::Tensor trained = model->predict(training_views(scene, 1)).views[0][0].detach().clamp(0, 1);
    const auto state = read_first(*model, scene, 3);
    const int64_t views = config.gaussians.virtual_views > 0 ? 2 : 3;
    EXPECT_EQ(state->gaussians->size(), views * 8 * 12);
    EXPECT_TRUE(state->memories.empty());
    const at::Tensor drawn = model->render(*state, scene.intrinsics[3], scene.camera_to_world[3], 8, 12);
    EXPECT_LT(difference(drawn, trained), 1e-9);
    EXPECT_GT((drawn - drawn.mean()).abs().max().item<double>(), 0.01) << "shows something";
  });
}

TEST(GaussianScene, PiecesGiveTheGaussiansOfTheWhole) {
  const auto scene = tiny_scene(3, 8, 8, at::kDouble);
  for (const auto mixer : {MixerKind::lact, MixerKind::full, MixerKind::gla}) {
    const auto model = make_precise_nvs(with_gaussians(tiny_nvs(mixer)));
    const auto whole = read_first(*model, scene, 3), pieces = read_first(*model, scene, 3, 1);
    for (size_t i = 0; i < ops::kGaussianFields.size(); ++i)
      EXPECT_LT(difference(*pieces->gaussians->fields()[i], *whole->gaussians->fields()[i]), 1e-9);
  }
}

// Every Gaussian knows all input views; where it stands it owes to the camera of its own view.
TEST(GaussianScene, AnInputViewReachesTheGaussiansOfAll) {
  const auto model = make_precise_nvs(with_gaussians(tiny_nvs()));
  auto scene = tiny_scene(3, 8, 8, at::kDouble);
  const auto before = read_first(*model, scene, 3);
  scene.images = scene.images.clone();
  scene.images[1].fill_(0.3);
  const auto after = read_first(*model, scene, 3);
  for (int64_t view = 0; view < 3; ++view) {
    const auto part = [&](const at::Tensor& all) { return all.narrow(0, view * 64, 64); };
    const at::Tensor was = part(before->gaussians->means), is = part(after->gaussians->means);
    EXPECT_GT((was - is).abs().max().item<double>(), 1e-6) << view;
    const at::Tensor camera = scene.camera_to_world[view].slice(0, 0, 3).select(1, 3);
    const at::Tensor ray = (was - camera) / (was - camera).norm(2, {1}, true);
    EXPECT_LT((((is - camera) / (is - camera).norm(2, {1}, true)) - ray).abs().max().item<double>(), 1e-9);
  }
}

TEST(GaussianScene, GradientsReachEveryWeight) {
  each_gaussian_model([&](const NvsConfig& config) {
    const auto model = make_nvs(config);
    const auto scene = tiny_scene(4, 8, 8);
    const Prediction shown = model->predict(training_views(scene, 2));
    EXPECT_EQ(shown.views.sizes(), at::IntArrayRef({1, 2, 3, 8, 8}));
    const double opacity = shown.mean_opacity.item<double>();
    EXPECT_GT(opacity, 0.1);
    EXPECT_LT(opacity, 0.9);
    (shown.views.square().mean() + shown.mean_opacity).backward();
    for (const auto& item : model->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_TRUE(at::isfinite(item.value().grad()).all().item<bool>()) << item.key();
    }
  });
}

TEST(GaussianScene, OnlyTheMostOpaqueAreKept) {
  auto config = with_gaussians(tiny_nvs());
  const auto scene = tiny_scene(3, 8, 8);
  const auto all = read_first(*make_nvs(config), scene, 2);
  config.gaussians.keep = 0.25;
  config.gaussians.keep_random = 0.5;
  const auto model = make_nvs(config);
  const auto kept = read_first(*model, scene, 2);
  EXPECT_EQ(kept->gaussians->size(), 32);
  const at::Tensor sorted = std::get<0>(all->gaussians->opacity_logits.sort(0, true)).narrow(0, 0, 32);
  EXPECT_TRUE(std::get<0>(kept->gaussians->opacity_logits.sort(0, true)).equal(sorted));
  // In training some are drawn: two predictions differ.
  const auto predicted = [&] { return model->predict(training_views(scene, 1)).views; };
  EXPECT_FALSE(predicted().equal(predicted()));
}

TEST(GaussianScene, CostCountsTheParameters) {
  each_gaussian_model([&](const NvsConfig& config) {
    int64_t numbers = 0;
    for (const auto& parameter : NvsModel(config).parameters()) numbers += parameter.numel();
    EXPECT_EQ(numbers, cost(config, {2, {16, 16}}).total().parameters);
  });
}

TEST(GaussianScene, ComesBackFromItsFile) {
  const TemporaryFolder folder;
  const auto model = make_nvs(with_gaussians(tiny_nvs()));
  auto scene = lact::testing::scene_of_noise(*model);
  save_scene(folder / "scene", scene, fingerprint(*model));
  const auto again = load_scene(folder / "scene", *model, fingerprint(*model));
  ASSERT_TRUE(again.state->gaussians);
  for (size_t i = 0; i < ops::kGaussianFields.size(); ++i)
    EXPECT_TRUE(again.state->gaussians->fields()[i]->equal(*scene.state->gaussians->fields()[i]));
  const auto view = [&](const NvsScene& from) {
    return model->render(*from.state, scene.intrinsics[0], scene.camera_to_world[0], 8, 12);
  };
  EXPECT_TRUE(view(again).equal(view(scene)));
  scene.state->gaussians->opacity_logits = scene.state->gaussians->opacity_logits.slice(0, 1);
  save_scene(folder / "scene", scene, fingerprint(*model));
  EXPECT_SENTENCE(load_scene(folder / "scene", *model, fingerprint(*model)), "opacity_logits have shape");
}

TEST(GaussianScene, ImageWeightsBeginAGaussianHead) {
  const TemporaryFolder folder;
  const auto image = make_nvs(tiny_nvs());
  save_nvs(folder / "image", *image);
  const auto config = with_gaussians(tiny_nvs());
  const BegunModel begun = load_nvs_as(config, folder / "image");
  EXPECT_TRUE(begun.fresh_decoder);
  EXPECT_EQ(begun.model->config(), config);
  const auto known = image->named_parameters();
  for (const auto& item : begun.model->named_parameters()) {
    if (item.key() == "decoder.weight") {
      EXPECT_EQ(item.value().size(0), config.output_channels());
    } else {
      EXPECT_TRUE(item.value().equal(known[item.key()])) << item.key();
    }
  }
  // With other options of the same head the decoder stays.
  save_nvs(folder / "gaussians", *begun.model);
  auto nearer = config;
  nearer.gaussians.max_dist = 3;
  const BegunModel tuned = load_nvs_as(nearer, folder / "gaussians");
  EXPECT_FALSE(tuned.fresh_decoder);
  EXPECT_TRUE(tuned.model->named_parameters()["decoder.weight"].equal(
      begun.model->named_parameters()["decoder.weight"]));
  EXPECT_NE(fingerprint(*tuned.model), fingerprint(*begun.model));
  auto wider = config;
  wider.feed_forward.hidden_dim = 96;
  EXPECT_SENTENCE(load_nvs_as(wider, folder / "image"), "only head and gaussians may differ");
  EXPECT_SENTENCE(load_nvs_as(tiny_nvs(), folder / "gaussians"), "only head and gaussians may differ");
}

TEST(GaussianScene, AFolderComesBackTheSame) {
  const TemporaryFolder folder;
  const auto model = make_nvs(with_gaussians(tiny_nvs(), 2));
  save_nvs(folder / "model", *model);
  const auto again = load_nvs(folder / "model");
  EXPECT_EQ(again->config(), model->config());
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));
}

TEST(GaussianScene, MistakesAreSentences) {
  const auto model = make_nvs(with_gaussians(tiny_nvs()));
  const auto scene = tiny_scene(3, 8, 8);
  auto state = read_first(*model, scene, 2);
  EXPECT_SENTENCE(model->read_more(*state, {{8, 8}}, {}), "more views need a reading of all of them");
  const at::Tensor rays = scene.rays().unsqueeze(0);
  EXPECT_SENTENCE(
      model->forward(scene.images.narrow(0, 0, 2).unsqueeze(0), rays.narrow(1, 0, 2), rays.narrow(1, 2, 1)),
      "the model's head is gaussians");
  EXPECT_SENTENCE(NvsModel(with_gaussians(tiny_nvs(MixerKind::perceiver))), "set gaussians.virtual_views");
  auto config = with_gaussians(tiny_nvs());
  config.gaussians.keep = 0;
  EXPECT_SENTENCE(config.check(), "gaussians.keep is 0");
  config.gaussians.keep = 1;
  config.gaussians.sh_degree = 4;
  EXPECT_SENTENCE(config.check(), "gaussians.sh_degree is 4, expected 0 to 3");
}

}  // namespace
}  // namespace lact::models
