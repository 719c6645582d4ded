#include "lact/models/umt5/encoder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/models/umt5/folder.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::TemporaryFolder;

Umt5Config tiny_umt5() {
  Umt5Config config;
  config.vocabulary = 23;
  config.model_dim = 16;
  config.attention_dim = 24;
  config.hidden_dim = 20;
  config.num_heads = 3;
  config.num_layers = 2;
  return config;
}

TEST(Umt5, DistancesShareGroupsByTheirLogarithm) {
  const at::Tensor groups = distance_buckets(1, 300, 32, 128)[0];
  // Half of 32 groups are for keys behind the query, of which 8 hold one distance each.
  for (int64_t i = 1; i < 8; ++i) EXPECT_EQ(groups[i].item<int64_t>(), 16 + i);
  EXPECT_EQ(groups[0].item<int64_t>(), 0);
  EXPECT_EQ(groups[8].item<int64_t>(), 24);
  // 8 + floor(log(32 / 8) / log(128 / 8) · 8) = 12
  EXPECT_EQ(groups[33].item<int64_t>(), 16 + 12);
  EXPECT_EQ(groups[127].item<int64_t>(), 31);
  EXPECT_EQ(groups[299].item<int64_t>(), 31);
  const at::Tensor back = distance_buckets(300, 1, 32, 128).select(1, 0);
  EXPECT_TRUE(back.narrow(0, 1, 299).equal(groups.narrow(0, 1, 299) - 16));
}

TEST(Umt5, PaddingChangesNoToken) {
  at::manual_seed(2);
  const Umt5Encoder encoder(tiny_umt5(), at::kDouble);
  const at::Tensor ids = at::randint(23, {1, 9}, at::kLong);
  const at::Tensor alone = encoder.forward(ids);
  const at::Tensor padded = at::cat({ids, at::randint(23, {1, 5}, at::kLong)}, 1);
  const at::Tensor mask = (at::arange(14) < 9).to(at::kLong).unsqueeze(0);
  EXPECT_LT(difference(encoder.forward(padded, mask).narrow(1, 0, 9), alone), 1e-12);
  EXPECT_GT(difference(encoder.forward(padded).narrow(1, 0, 9), alone), 1e-6);
}

TEST(Umt5, GradientsAreThoseOfFiniteDifferences) {
  at::manual_seed(4);
  const Umt5Encoder encoder(tiny_umt5(), at::kDouble);
  const at::Tensor ids = at::randint(23, {2, 6}, at::kLong), weighting = at::randn({2, 6, 16}, at::kDouble);
  const auto loss = [&] { return (encoder.forward(ids) * weighting).sum(); };
  loss().backward();
  at::NoGradGuard no_grad;
  for (const auto& item : encoder.named_parameters()) {
    at::Tensor parameter = item.value();
    const at::Tensor along = at::randn_like(parameter), kept = parameter.clone();
    const double analytic = (parameter.grad() * along).sum().item<double>(), step = 1e-6;
    parameter.copy_(kept + step * along);
    const double above = loss().item<double>();
    parameter.copy_(kept - step * along);
    const double numeric = (above - loss().item<double>()) / (2 * step);
    parameter.copy_(kept);
    EXPECT_NEAR(numeric, analytic, 1e-6 * std::max(1.0, std::abs(analytic))) << item.key();
  }
}

TEST(Umt5, Bfloat16WeightsGiveNearlyTheSame) {
  at::NoGradGuard no_grad;
  at::manual_seed(6);
  const TemporaryFolder folder;
  const Umt5Encoder wide(tiny_umt5());
  save_umt5(folder / "wide", wide);
  const auto narrow = load_umt5(folder / "wide", at::kBFloat16);
  EXPECT_EQ(narrow->parameters().front().scalar_type(), at::kBFloat16);
  const at::Tensor ids = at::randint(23, {2, 6}, at::kLong), output = narrow->forward(ids);
  EXPECT_EQ(output.scalar_type(), at::kFloat);
  EXPECT_LT(difference(output, wide.forward(ids)), 0.05);
}

TEST(Umt5, FoldersAndFilesComeBackTheSame) {
  at::NoGradGuard no_grad;
  const TemporaryFolder folder;
  const Umt5Encoder encoder(tiny_umt5());
  save_umt5(folder / "model", encoder);
  const at::Tensor ids = at::randint(23, {2, 6}, at::kLong), expected = encoder.forward(ids);
  for (const std::string name : {"model", "model/model.safetensors"}) {
    const auto again = load_umt5(folder / name);
    EXPECT_EQ(again->config(), tiny_umt5());
    EXPECT_TRUE(again->forward(ids).equal(expected)) << name;
  }
}

TEST(Umt5, ThePublishedNames) {
  const Umt5Encoder encoder(tiny_umt5());
  const auto parameters = encoder.named_parameters();
  for (const char* name :
       {"token_embedding.weight", "blocks.1.norm1.weight", "blocks.0.attn.q.weight",
        "blocks.0.ffn.gate.0.weight", "blocks.1.pos_embedding.embedding.weight", "norm.weight"})
    EXPECT_TRUE(parameters.contains(name)) << name;
  EXPECT_EQ(parameters.size(), 2 + 2 * 10u);
}

TEST(Umt5, MistakesAreSentences) {
  const Umt5Encoder encoder(tiny_umt5());
  EXPECT_SENTENCE(encoder.forward(at::full({1, 3}, 23, at::kLong)), "token 23, expected 0 to 22");
  EXPECT_SENTENCE(encoder.forward(at::full({1, 3}, -1, at::kLong)), "token -1");
  EXPECT_SENTENCE(encoder.forward(at::zeros({3}, at::kLong)), "shape [3]");
  EXPECT_SENTENCE(encoder.forward(at::zeros({1, 3})), "dtype Float");
  EXPECT_SENTENCE(encoder.forward(at::zeros({1, 3}, at::kLong), at::ones({1, 4})),
                  "the mask has shape [1, 4]");
  auto config = tiny_umt5();
  config.num_heads = 5;
  EXPECT_SENTENCE(config.check(), "num_heads is 5, which does not divide attention_dim 24");
  config = tiny_umt5();
  config.buckets = 6;
  EXPECT_SENTENCE(config.check(), "buckets is 6");
  AuthorsUmt5 theirs;
  theirs.shared_pos = true;
  EXPECT_SENTENCE(translate(theirs), "expected one for each block");
  const TemporaryFolder folder;
  io::write_safetensors(folder / "other.safetensors", {{{"w", at::zeros({2})}}, {}});
  EXPECT_SENTENCE(load_umt5(folder / "other.safetensors"), "no umT5 encoder");
  EXPECT_SENTENCE(load_umt5(folder / "nothing"), "is not a model folder");
}

}  // namespace
}  // namespace lact::models
