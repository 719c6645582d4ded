#include "lact/models/vae/loss.h"

#include "support/errors.h"
#include "support/gradients.h"
#include "support/tiny_vae.h"

#include <ATen/CPUGeneratorImpl.h>

namespace lact::models {
namespace {

using lact::testing::make_precise_vae;
using lact::testing::tiny_clip;

TEST(VaeLoss, IsTheErrorOfThePixelsAndTheDivergenceOfTheLatents) {
  const auto model = make_precise_vae();
  const at::Tensor clip = tiny_clip(2, 5, 8, 8);
  const auto loss = vae_loss(*model, clip, {.kl_weight = 0.25}, at::detail::createCPUGenerator(9));
  at::NoGradGuard no_grad;
  const auto moments = model->encode(clip);
  auto generator = at::detail::createCPUGenerator(9);
  const at::Tensor noise = at::randn(moments.mean.sizes(), generator, at::kDouble);
  const at::Tensor decoded = model->decode(moments.mean + (moments.log_variance / 2).exp() * noise);
  const double error = (decoded - clip).abs().mean().item<double>();
  // KL(N(m, s²) || N(0, 1)) = (m² + s² - 1) / 2 - log s
  const at::Tensor deviation = (moments.log_variance / 2).exp();
  const double divergence =
      ((moments.mean.square() + deviation.square() - 1) / 2 - deviation.log()).mean().item<double>();
  EXPECT_NEAR(loss.reconstruction.item<double>(), error, 1e-12);
  EXPECT_NEAR(loss.divergence.item<double>(), divergence, 1e-12);
  EXPECT_NEAR(loss.total.item<double>(), error + 0.25 * divergence, 1e-12);
}

TEST(VaeLoss, EveryParameterGetsAGradient) {
  const auto model = make_precise_vae();
  vae_loss(*model, tiny_clip(1, 5, 8, 8)).total.backward();
  for (const auto& item : model->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
  }
}

/// A step against the gradient makes the loss smaller.
TEST(VaeLoss, AFewStepsHelp) {
  at::manual_seed(3);
  Vae model(vae_tiny());
  const at::Tensor clip = at::rand({1, 3, 3, 16, 16}) * 2 - 1;
  const auto loss_now = [&] { return vae_loss(model, clip, {}, at::detail::createCPUGenerator(1)).total; };
  const double before = loss_now().item<double>();
  for (int step = 0; step < 10; ++step) {
    model.zero_grad();
    loss_now().backward();
    at::NoGradGuard no_grad;
    for (at::Tensor parameter : model.parameters())
      if (parameter.grad().defined()) parameter.sub_(parameter.grad().sign() * 1e-3);
  }
  EXPECT_LT(loss_now().item<double>(), 0.9 * before);
}

TEST(LatentStatistics, AreThoseOfAllLatentsTogether) {
  LatentStatistics statistics;
  const at::Tensor latents = at::randn({6, 3, 2, 4, 4}, at::kDouble) * 3 + 1;
  statistics.add(latents.narrow(0, 0, 2));
  statistics.add(latents.narrow(0, 2, 4));
  const at::Tensor middle = latents.select(1, 1);
  EXPECT_NEAR(statistics.mean()[1], middle.mean().item<double>(), 1e-10);
  EXPECT_NEAR(statistics.std()[1], middle.std(/*unbiased=*/false).item<double>(), 1e-10);
  EXPECT_SENTENCE(statistics.add(at::zeros({1, 4, 1, 1, 1})), "expected [batch, 3, frames");
  EXPECT_SENTENCE(LatentStatistics().mean(), "no latents were added");
}

}  // namespace
}  // namespace lact::models
