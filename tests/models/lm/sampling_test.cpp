#include "lact/models/lm/sampling.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/errors.h"

namespace lact::models {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t draw(const std::vector<double>& logits, const SamplingOptions& options = {}) {
  Sampler sampler(options);
  return sampler.draw(at::tensor(logits, at::kDouble));
}

/// Greedy and drawn.
const std::vector<SamplingOptions> kWays = {{.temperature = 0}, {.temperature = 1, .top_p = 1}, {.top_k = 2}};

TEST(Sampling, LogitsWithoutAnOrderAreRefused) {
  for (const auto& options : kWays) {
    EXPECT_SENTENCE(draw({0, kInfinity, 1}, options), "logits contain NaN or infinity");
    EXPECT_SENTENCE(draw({0, std::nan(""), 1}, options), "logits contain NaN or infinity");
    EXPECT_SENTENCE(draw({-kInfinity, -kInfinity}, options), "no token a finite logit");
  }
}

TEST(Sampling, ATokenOfMinusInfinityNeverComes) {
  for (const auto& options : kWays) EXPECT_EQ(draw({-kInfinity, 3, -kInfinity}, options), 1);
  Sampler sampler({.temperature = 1, .top_p = 1});
  for (int i = 0; i < 100; ++i) EXPECT_NE(sampler.draw(at::tensor({1.0, -kInfinity, 1.0}, at::kDouble)), 1);
}

TEST(Sampling, PenaltiesThatOverflowAreRefused) {
  EXPECT_SENTENCE(Sampler({.repetition_penalty = 1e-310}), "repetition_penalty is 1e-310, expected 0.01 to");
  EXPECT_SENTENCE(Sampler({.repetition_penalty = std::nan("")}), "repetition_penalty is nan");
  Sampler sampler({.repetition_penalty = 0.01});
  sampler.note(1);
  EXPECT_SENTENCE(sampler.draw(at::tensor({0.0, 1e307}, at::kDouble)), "NaN or infinity");
}

TEST(Sampling, TheColdestTemperatureTakesTheLikeliestToken) {
  EXPECT_EQ(draw({1, 2, 3, 2}, {.temperature = 1e-310, .top_p = 1}), 2);
}

}  // namespace
}  // namespace lact::models
