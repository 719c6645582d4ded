#include "lact/models/lm/log_probabilities.h"

#include <ATen/ATen.h>

#include <cmath>

#include "support/errors.h"

namespace lact::models {
namespace {

TEST(LogProbabilities, AreThoseOfTheSoftmax) {
  const at::Tensor logits = at::log(at::tensor({0.1f, 0.5f, 0.15f, 0.25f})) + 7;
  const auto found = log_probabilities(logits, 2, 3);
  EXPECT_NEAR(std::exp(found.chosen), 0.15, 1e-6);
  ASSERT_EQ(found.likeliest.size(), 3u);
  EXPECT_EQ(found.likeliest[0].first, 1);
  EXPECT_EQ(found.likeliest[1].first, 3);
  EXPECT_EQ(found.likeliest[2].first, 2);
  EXPECT_NEAR(std::exp(found.likeliest[1].second), 0.25, 1e-6);
  EXPECT_TRUE(log_probabilities(logits, 0, 0).likeliest.empty());
  EXPECT_EQ(log_probabilities(logits, 0, 9).likeliest.size(), 4u);
}

TEST(LogProbabilities, MistakesAreSentences) {
  EXPECT_SENTENCE(log_probabilities(at::zeros({4}), 4, 1), "token 4");
  EXPECT_SENTENCE(log_probabilities(at::zeros({2, 4}), 0, 1), "shape");
}

}  // namespace
}  // namespace lact::models
