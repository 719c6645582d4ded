#include "lact/data/views/tracer/pattern.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/views/tracer/rays.h"
#include "lact/data/views/tracer/draw.h"

namespace lact::data::tracer {
namespace {

using testing::expect_near;

Pattern black_and_white(PatternKind kind) {
  Pattern pattern;
  pattern.kind = kind;
  pattern.first = {0, 0, 0};
  pattern.second = {1, 1, 1};
  pattern.noise_seed = 7;
  return pattern;
}

TEST(TracerPattern, CheckerAlternatesAlongEveryAxis) {
  const Pattern checker = black_and_white(PatternKind::kChecker);
  EXPECT_EQ(checker.colour({0.5F, 0.5F, 0.5F}).x, 0);
  EXPECT_EQ(checker.colour({1.5F, 0.5F, 0.5F}).x, 1);
  EXPECT_EQ(checker.colour({1.5F, -0.5F, 0.5F}).x, 0);
  EXPECT_EQ(checker.colour({1.5F, -0.5F, 2.5F}).x, 0);
  EXPECT_EQ(checker.colour({-0.5F, 0.5F, 0.5F}).x, 1);
}

TEST(TracerPattern, FrameAndCentreMoveThePattern) {
  Pattern gradient = black_and_white(PatternKind::kGradient);
  gradient.centre = {5, 5, 5};
  gradient.frame = {{0, 1, 0}, {0, 0, 1}, {0.5F, 0, 0}};  // along x, twice as long
  EXPECT_EQ(gradient.colour({3, 0, 0}).x, 0);
  EXPECT_FLOAT_EQ(gradient.colour({5, 9, -9}).x, 0.5F);
  EXPECT_EQ(gradient.colour({7, 0, 0}).x, 1);
}

TEST(TracerPattern, NoiseIsSmoothAndDependsOnItsSeed) {
  Draw draw(1);
  float low = 1, high = 0;
  int differing = 0;
  for (int i = 0; i < 500; ++i) {
    const Vec3 point = draw.in_ball() * 20;
    const float value = value_noise(point, 3);
    low = std::fmin(low, value);
    high = std::fmax(high, value);
    EXPECT_NEAR(value, value_noise(point + Vec3{1e-3F, -1e-3F, 1e-3F}, 3), 6e-3F);
    differing += std::fabs(value - value_noise(point, 4)) > 0.05F ? 1 : 0;
  }
  EXPECT_GE(low, 0);
  EXPECT_LE(high, 1);
  EXPECT_LT(low, 0.15F);
  EXPECT_GT(high, 0.85F);
  EXPECT_GT(differing, 300);
  const float far = value_noise({1e20F, -1e20F, 0}, 1);
  EXPECT_TRUE(far >= 0 && far <= 1) << far;
}

TEST(TracerPattern, EveryKindShowsBothColoursAndNothingBeyondThem) {
  Draw draw(2);
  for (int kind = 1; kind < kNumPatternKinds; ++kind) {
    const Pattern pattern = black_and_white(static_cast<PatternKind>(kind));
    float low = 1, high = 0;
    for (int i = 0; i < 500; ++i) {
      const float value = pattern.colour(draw.in_ball() * 2).x;
      low = std::fmin(low, value);
      high = std::fmax(high, value);
    }
    EXPECT_GE(low, 0) << kind;
    EXPECT_LT(low, 0.1F) << kind;
    EXPECT_GT(high, 0.9F) << kind;
    EXPECT_LE(high, 1) << kind;
  }
  expect_near(black_and_white(PatternKind::kFlat).colour({1, 2, 3}), {0, 0, 0}, 0);
}

}  // namespace
}  // namespace lact::data::tracer
