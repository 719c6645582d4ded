#include "lact/tasks/nvs/evaluation/image_metrics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::tasks::nvs {
namespace {

TEST(ImageMetrics, HandComputedValues) {
  const at::Tensor truth = at::full({2, 3, 16, 16}, 0.5);
  at::Tensor rendered = truth.clone();
  rendered[0].add_(0.1);   // 20 dB
  rendered[1].add_(0.01);  // 40 dB
  const ImageScores scores = score_images(rendered, truth);
  EXPECT_NEAR(scores.psnr, 30, 1e-3);
  EXPECT_FALSE(scores.lpips.has_value());
  // Flat pictures: SSIM is (2 a b + c) / (a² + b² + c) with c = 0.01².
  const auto flat = [](double a, double b) { return (2 * a * b + 1e-4) / (a * a + b * b + 1e-4); };
  EXPECT_NEAR(scores.ssim, (flat(0.6, 0.5) + flat(0.51, 0.5)) / 2, 1e-4);
}

TEST(ImageMetrics, WhatAPictureCannotShowIsCutOff) {
  const at::Tensor truth = at::ones({1, 3, 16, 16});
  EXPECT_NEAR(score_images(truth * 1.5 - 0.25 * at::eye(16), truth).ssim, 1, 1e-6);
}

TEST(ImageMetrics, MistakesAreSentences) {
  EXPECT_SENTENCE(score_images(at::zeros({3, 16, 16}), at::zeros({3, 16, 16})),
                  "expected twice [N, 3, H, W]");
  EXPECT_SENTENCE(score_images(at::zeros({1, 3, 16, 16}), at::zeros({1, 3, 16, 12})), "[1, 3, 16, 12]");
}

}  // namespace
}  // namespace lact::tasks::nvs
