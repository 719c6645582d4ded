#include "lact/models/vae/model.h"

#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_vae.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::make_precise_vae;
using lact::testing::tiny_clip;
using lact::testing::tiny_vae;

TEST(VaeModel, ShapesFollowTheFactors) {
  at::NoGradGuard no_grad;
  const Vae wan(vae_tiny());
  EXPECT_EQ(vae_tiny().spatial(), 4);
  EXPECT_EQ(vae_tiny().temporal(), 2);
  EXPECT_EQ(vae_wan().spatial(), 8);
  EXPECT_EQ(vae_wan().temporal(), 4);
  const auto moments = wan.encode(at::zeros({2, 3, 5, 16, 8}));
  EXPECT_EQ(moments.mean.sizes(), (std::vector<int64_t>{2, 8, 3, 4, 2}));
  EXPECT_EQ(moments.log_variance.sizes(), moments.mean.sizes());
  EXPECT_EQ(wan.decode(moments.mean).sizes(), (std::vector<int64_t>{2, 3, 5, 16, 8}));
}

TEST(VaeModel, CachesThatAreResetBeginAnotherClip) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  const at::Tensor clip = tiny_clip(1, 5, 8, 8);
  FrameCaches caches;
  const at::Tensor first = model->encode(clip, &caches).mean;
  EXPECT_GT(caches.frames(), 0);
  caches.reset();
  EXPECT_TRUE(caches.at_first_frame());
  EXPECT_TRUE(model->encode(clip, &caches).mean.equal(first));
}

/// The pieces begin with 1 + 4 n frames, and have 4 n frames later.
TEST(VaeModel, PiecesGiveTheLatentsOfTheWholeClip) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  const at::Tensor clip = tiny_clip(2, 17, 8, 12);
  const auto whole = model->encode(clip);
  for (const auto& lengths : {std::vector<int64_t>{1, 4, 4, 4, 4}, {5, 12}, {1, 16}, {9, 4, 4}, {1, 8, 8}}) {
    FrameCaches caches;
    std::vector<at::Tensor> means, variances;
    int64_t begin = 0;
    for (const int64_t frames : lengths) {
      const auto piece = model->encode(clip.narrow(2, begin, frames), &caches);
      means.push_back(piece.mean);
      variances.push_back(piece.log_variance);
      begin += frames;
    }
    EXPECT_LT(difference(at::cat(means, 2), whole.mean), 1e-12);
    EXPECT_LT(difference(at::cat(variances, 2), whole.log_variance), 1e-12);
  }
}

TEST(VaeModel, PiecesGiveThePixelsOfTheWholeClip) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  const at::Tensor latents = at::randn({2, 3, 6, 2, 3}, at::kDouble);
  const at::Tensor whole = model->decode(latents);
  EXPECT_EQ(whole.sizes(), (std::vector<int64_t>{2, 3, 21, 8, 12}));
  for (const auto& lengths : {std::vector<int64_t>{1, 1, 1, 1, 1, 1}, {2, 4}, {3, 1, 2}, {1, 5}}) {
    FrameCaches caches;
    std::vector<at::Tensor> pieces;
    int64_t begin = 0;
    for (const int64_t frames : lengths) {
      pieces.push_back(model->decode(latents.narrow(2, begin, frames), &caches));
      begin += frames;
    }
    EXPECT_LT(difference(at::cat(pieces, 2), whole), 1e-12);
  }
}

TEST(VaeModel, LaterFramesChangeNoEarlierLatent) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  const at::Tensor clip = tiny_clip(1, 13, 8, 8);
  const at::Tensor before = model->encode(clip).mean;
  for (int64_t frame = 0; frame < 13; ++frame) {
    at::Tensor changed = clip.clone();
    changed.select(2, frame).add_(0.5);
    const at::Tensor apart = (model->encode(changed).mean - before).abs().amax({0, 1, 3, 4});
    const int64_t own = (frame + 3) / 4;  // frames 1 to 4 make latent frame 1
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(apart[i].item<double>() > 0, i >= own) << "frame " << frame << ", latent frame " << i;
  }
}

TEST(VaeModel, LaterLatentsChangeNoEarlierPixel) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  const at::Tensor latents = at::randn({1, 3, 4, 2, 2}, at::kDouble), before = model->decode(latents);
  for (int64_t frame = 0; frame < 4; ++frame) {
    at::Tensor changed = latents.clone();
    changed.select(2, frame).add_(0.5);
    const at::Tensor apart = (model->decode(changed) - before).abs().amax({0, 1, 3, 4});
    const int64_t first = frame == 0 ? 0 : 4 * frame - 3;
    EXPECT_EQ(apart.narrow(0, 0, first).sum().item<double>(), 0) << frame;
    EXPECT_GT(apart[first].item<double>(), 0) << frame;
  }
}

TEST(VaeModel, GradientsAreThoseOfFiniteDifferences) {
  const auto model = make_precise_vae();
  std::vector<at::Tensor> inputs = {tiny_clip(1, 5, 4, 4)};
  lact::testing::expect_gradients(
      [&](const std::vector<at::Tensor>& in) {
        const auto moments = model->encode(in[0]);
        return model->decode(moments.mean + moments.log_variance);
      },
      inputs, 1e-5);
}

TEST(VaeModel, ScalingLatentsCanBeUndone) {
  const auto model = make_precise_vae();
  const at::Tensor latents = at::randn({2, 3, 2, 2, 2}, at::kDouble);
  const at::Tensor scaled = model->scaled(latents);
  EXPECT_LT(difference(scaled.select(1, 1), (latents.select(1, 1) + 1) / 0.5), 1e-12);
  EXPECT_LT(difference(model->unscaled(scaled), latents), 1e-12);
  model->set_latent_scale({}, {});
  EXPECT_TRUE(model->scaled(latents).equal(latents));
  EXPECT_SENTENCE(model->set_latent_scale({1, 2}, {}), "latent_mean has 2 numbers");
  EXPECT_SENTENCE(model->set_latent_scale({}, {1, 0, 1}), "latent_std.1 is 0");
}

TEST(VaeModel, MistakesAreSentences) {
  at::NoGradGuard no_grad;
  const auto model = make_precise_vae();
  EXPECT_SENTENCE(model->encode(at::zeros({1, 4, 5, 8, 8})), "[1, 4, 5, 8, 8], expected [batch, 3, frames");
  EXPECT_SENTENCE(model->encode(at::zeros({3, 5, 8, 8})), "shape [3, 5, 8, 8]");
  EXPECT_SENTENCE(model->encode(at::zeros({1, 3, 5, 10, 8})),
                  "pictures of 10 x 8 pixels, expected multiples of 4");
  EXPECT_SENTENCE(model->encode(at::zeros({1, 3, 6, 8, 8})), "a clip of 6 frames, expected 1 + 4 n");
  EXPECT_SENTENCE(model->encode(at::zeros({1, 3, 0, 8, 8})), "a clip of 0 frames");
  EXPECT_SENTENCE(model->decode(at::zeros({1, 16, 2, 2, 2})), "expected [batch, 3, frames, rows, columns]");
  FrameCaches caches;
  model->encode(at::zeros({1, 3, 1, 8, 8}), &caches);
  EXPECT_SENTENCE(model->encode(at::zeros({1, 3, 3, 8, 8}), &caches), "further piece of 3 frames");
  EXPECT_SENTENCE(model->encode(at::zeros({1, 3, 4, 8, 16}), &caches),
                  "where the pieces before had 1 x 8 x 8");
}

TEST(VaeConfig, SizesThatCannotWorkAreSentences) {
  const auto expect = [](auto change, const std::string& sentence) {
    VaeConfig config = tiny_vae();
    change(config);
    EXPECT_SENTENCE(config.check(), sentence);
  };
  expect([](VaeConfig& c) { c.base_channels = 0; }, "base_channels is 0");
  expect([](VaeConfig& c) { c.channel_multiples = {}; }, "channel_multiples has 0 numbers");
  expect(
      [](VaeConfig& c) {
        c.base_channels = 3, c.channel_multiples = {1, 3, 2};
      },
      "expected an even number");
  expect([](VaeConfig& c) { c.time_strides = {2}; }, "time_strides has 1 numbers, expected 2");
  expect([](VaeConfig& c) { c.time_strides = {2, 3}; }, "time_strides.1 is 3");
  expect([](VaeConfig& c) { c.latent_mean = {1}; }, "latent_mean has 1 numbers");
}

}  // namespace
}  // namespace lact::models
