#include "lact/models/video/embeddings.h"

#include <ATen/ATen.h>

#include <cmath>

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::models {
namespace {

TEST(VideoEmbeddings, WavesOfATimeStep) {
  const at::Tensor waves = sinusoidal_embedding(at::tensor({0.0, 750.0}).reshape({1, 2}), 4);
  ASSERT_EQ(waves.sizes(), at::IntArrayRef({1, 2, 4}));
  const double slow = 750.0 / 100;  // 10000^(-1/2)
  const at::Tensor expected = at::tensor(
      {1.0, 1.0, 0.0, 0.0, std::cos(750.0), std::cos(slow), std::sin(750.0), std::sin(slow)}, at::kDouble);
  EXPECT_LT(lact::testing::difference(waves.flatten(), expected), 1e-12);
}

TEST(VideoEmbeddings, EveryPartHasItsOwnTime) {
  at::manual_seed(1);
  const TimeEmbedding embedding(16, 8);
  const at::Tensor times = at::tensor({0.0, 300.0, 999.0, 300.0}).reshape({2, 2});
  const TimeContext context = embedding.forward(times);
  EXPECT_EQ(context.embedding.sizes(), at::IntArrayRef({2, 2, 8}));
  EXPECT_EQ(context.modulation.sizes(), at::IntArrayRef({2, 2, kBlockModulations, 8}));
  EXPECT_TRUE(at::allclose(context.modulation[0][1], context.modulation[1][1]));
  EXPECT_FALSE(at::allclose(context.modulation[0][0], context.modulation[1][0]));
}

TEST(VideoEmbeddings, TextsOfWrongShapeAreSentences) {
  const TextEmbedding embedding(4, 3, 8);
  EXPECT_EQ(embedding.forward(at::zeros({2, 0, 4})).sizes(), at::IntArrayRef({2, 3, 8}));
  EXPECT_SENTENCE(embedding.forward(at::zeros({2, 4, 4})), "expected [B, at most 3, 4]");
  EXPECT_SENTENCE(embedding.forward(at::zeros({2, 3, 5})), "expected [B, at most 3, 4]");
  EXPECT_SENTENCE(embedding.forward(at::zeros({2, 3, 4}, at::kLong)), "type Long");
}

}  // namespace
}  // namespace lact::models
