// The parts of an optimisation of Gaussians: neighbours, relocation, population, strategies.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lact/base/random.h"
#include "lact/tasks/nvs/splatting/exposure.h"
#include "lact/tasks/nvs/splatting/initial.h"
#include "lact/tasks/nvs/splatting/nearest.h"
#include "lact/tasks/nvs/splatting/relocation.h"
#include "lact/tasks/nvs/splatting/shape.h"
#include "lact/tasks/nvs/splatting/strategy.h"
#include "support/errors.h"

namespace lact::tasks::nvs {
namespace {

std::vector<data::Point> scattered(int64_t count) {
  Random random(4);
  std::vector<data::Point> points;
  for (int64_t i = 0; i < count; ++i)
    points.push_back({random.uniform(), random.uniform(), random.uniform()});
  return points;
}

ops::Gaussians some_gaussians(int64_t count, const SplatConfig& config = {}) {
  data::ScenePoints points = {"", scattered(count), {}};
  points.colours.resize(points.places.size(), {0.2, 0.5, 0.8});
  return initial_gaussians(points, config, 1);
}

TEST(Neighbours, AreTheThreeNearest) {
  auto points = scattered(300);
  points.push_back(points[0]);  // twice the same place
  const auto found = neighbour_distances(points);
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<double> squares;
    for (size_t j = 0; j < points.size(); ++j) {
      const data::Point gap = data::difference(points[i], points[j]);
      if (j != i) squares.push_back(data::dot(gap, gap));
    }
    std::sort(squares.begin(), squares.end());
    EXPECT_NEAR(found[i], std::sqrt((squares[0] + squares[1] + squares[2]) / 3), 1e-12);
  }
  EXPECT_EQ(neighbour_distances({{1, 2, 3}}), std::vector<double>{0});
  EXPECT_NEAR(neighbour_distances({{0, 0, 0}, {0, 3, 4}})[0], 5, 1e-12);
}

TEST(Relocation, CopiesTogetherAreAsOpaqueAsTheOne) {
  for (const double opacity : {0.01, 0.3, 0.9, 0.999})
    for (const int64_t copies : {1, 2, 5, 51}) {
      const Relocation each = relocate(opacity, copies);
      EXPECT_NEAR(std::pow(1 - each.opacity, double(copies)), 1 - opacity, 1e-12);
      EXPECT_LE(each.scale_factor, 1 + 1e-9);
      EXPECT_GT(each.scale_factor, 0.1);
    }
  EXPECT_NEAR(relocate(0.4, 1).scale_factor, 1, 1e-12);
  // The sums of the paper as they stand there: Σ_i Σ_k binom(i - 1, k) (-1)^k oᵏ⁺¹ / sqrt(k + 1)
  const int64_t copies = 4;
  const Relocation each = relocate(0.7, copies);
  double sum = 0;
  for (int64_t i = 1; i <= copies; ++i) {
    double binomial = 1;
    for (int64_t k = 0; k < i; ++k) {
      sum += binomial * std::pow(-1, k) * std::pow(each.opacity, double(k + 1)) / std::sqrt(double(k + 1));
      binomial *= double(i - 1 - k) / double(k + 1);
    }
  }
  EXPECT_NEAR(each.scale_factor, 0.7 / sum, 1e-12);
  EXPECT_EQ(relocate(0.7, 1000).opacity, relocate(0.7, kMostCopies).opacity);
}

TEST(InitialGaussians, StandForTheirPoints) {
  SplatConfig config;
  config.most = 50;
  const ops::Gaussians all = some_gaussians(40, config);
  EXPECT_EQ(all.size(), 40);
  EXPECT_EQ(all.degree(), 3);
  EXPECT_NEAR(all.opacity_logits.sigmoid()[0].item<double>(), 0.5, 1e-6);
  EXPECT_NEAR((all.harmonics[3][0][2] * 0.28209479177387814 + 0.5).item<double>(), 0.8, 1e-6);
  const auto distances = neighbour_distances(scattered(40));
  EXPECT_NEAR(std::exp(all.log_scales[7][1].item<double>()), 0.1 * distances[7], 1e-6);
  EXPECT_EQ(some_gaussians(400, config).size(), 50);
  config.strategy = SplatStrategy::classic;
  EXPECT_NEAR(some_gaussians(4, config).opacity_logits.sigmoid()[0].item<double>(), 0.1, 1e-6);
}

TEST(PopulationOfGaussians, StepsAreAdams) {
  Population population(some_gaussians(5));
  const SplatRates rates;
  const at::Tensor before = population.gaussians().harmonics.detach().clone();
  const auto pull = [&] {
    at::Tensor sum = at::zeros({});
    for (const at::Tensor* field : population.gaussians().fields()) sum = sum + (3 * *field).sum();
    sum.backward();
  };
  pull();
  population.step(rates, 0.01);
  // The first step of Adam goes by the rate, whatever the gradient's size.
  const at::Tensor moved = before - population.gaussians().harmonics.detach();
  EXPECT_TRUE(at::allclose(moved.select(1, 0), at::full({5, 3}, rates.colour), 1e-3));
  EXPECT_TRUE(at::allclose(moved.narrow(1, 1, 15), at::full({5, 15, 3}, rates.harmonics), 1e-3));
  EXPECT_FALSE(population.gaussians().means.grad().defined());

  // Who is kept, keeps what is remembered of it; who is new is not known.
  population.append(some_gaussians(2));
  population.keep(at::tensor({6, 1}, at::kLong));
  std::map<std::string, at::Tensor> tensors;
  population.save(tensors);
  EXPECT_EQ(tensors.at("gaussians.means.mean")[0].abs().max().item<float>(), 0);
  EXPECT_GT(tensors.at("gaussians.means.mean")[1].abs().min().item<float>(), 0);
  population.forget(at::tensor({1}, at::kLong));
  population.save(tensors);
  EXPECT_EQ(tensors.at("gaussians.means.mean").abs().max().item<float>(), 0);

  Population again = Population::load(tensors, "file");
  EXPECT_TRUE(again.gaussians().means.equal(population.gaussians().means));
  tensors.erase("gaussians.means.square");
  EXPECT_SENTENCE(Population::load(tensors, "file"), "file: has no tensor gaussians.means.square");
  tensors["gaussians.means"] = at::full({2, 3}, std::nan(""));
  EXPECT_SENTENCE(Population::load(tensors, "file"), "file: [splat] means hold a number");
}

SplatStep due_step(double share = 0.2) {
  return {.number = 100, .share = share, .before = share - 0.001, .position_rate = 0, .seed = 3};
}

TEST(Mcmc, TheDeadAreRevivedAndTheBudgetIsReachedAndKept) {
  SplatConfig config;
  config.most = 104;
  ops::Gaussians start = some_gaussians(100, config);
  start.opacity_logits.narrow(0, 0, 10).fill_(-8);
  Population population(start);
  const auto strategy = make_strategy(config, 1);
  strategy->after_step(population, due_step());
  EXPECT_EQ(population.size(), 104);
  EXPECT_GE(population.gaussians().opacity_logits.detach().sigmoid().min().item<double>(), 0.005 - 1e-6);
  // The revived stand where others are.
  const at::Tensor means = population.gaussians().means.detach();
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ((means.narrow(0, 10, 90) - means[i]).abs().sum(1).min().item<float>(), 0) << i;
  strategy->after_step(population, due_step());
  EXPECT_EQ(population.size(), 104);
  const at::Tensor logits = population.gaussians().opacity_logits.detach().clone();
  strategy->after_step(population, due_step(0.9));  // too late
  EXPECT_TRUE(population.gaussians().opacity_logits.equal(logits));
}

TEST(Mcmc, FaintOnesWanderAlongTheirOwnShape) {
  SplatConfig config;
  ops::Gaussians start = some_gaussians(400, config);
  start.means.zero_();
  start.log_scales.copy_(at::tensor({0.0, -3.0, -6.0}).expand({400, 3}));
  start.opacity_logits.fill_(-9);
  start.opacity_logits.narrow(0, 0, 200).fill_(3);
  Population population(start);
  SplatStep step = due_step();
  step.number = 1;
  step.position_rate = 1 / config.mcmc.noise;
  make_strategy(config, 1)->after_step(population, step);
  const at::Tensor way = population.gaussians().means.detach();
  EXPECT_LT(way.narrow(0, 0, 200).abs().max().item<float>(), 1e-6f);
  const at::Tensor size = way.narrow(0, 200, 200).std(0);  // Σ n: by the variances
  EXPECT_NEAR(size[0].item<double>(), 0.62, 0.1);          // the gate at opacity 0
  EXPECT_NEAR((size[1] / size[0]).item<double>(), std::exp(-6), 4e-4);
  Population again(start);
  make_strategy(config, 1)->after_step(again, step);
  EXPECT_TRUE(again.gaussians().means.equal(population.gaussians().means));
}

TEST(Classic, PulledOnesAreDoubledOrSplitAndFaintOnesGo) {
  SplatConfig config;
  config.strategy = SplatStrategy::classic;
  ops::Gaussians start = some_gaussians(6, config);
  start.log_scales.fill_(std::log(0.001));
  start.log_scales[1].fill_(std::log(0.05));
  start.opacity_logits[5] = -9;
  Population population(start);
  const auto strategy = make_strategy(config, 1);
  ASSERT_TRUE(strategy->watches_places());
  at::Tensor offsets = at::zeros({6, 2}).requires_grad_();
  (offsets * at::tensor({1.0, 1.0, 0.0, 0.0, 0.0, 0.0}).unsqueeze(1)).sum().backward();
  ops::SplatImage picture = {at::zeros({3, 8, 8}), {}, {}, at::ones({6, 2}, at::kLong)};
  strategy->watch(picture, offsets);
  std::map<std::string, at::Tensor> kept;
  strategy->save(kept);
  strategy->after_step(population, due_step());
  // 6, 0 doubled, 1 became two, 5 gone
  ASSERT_EQ(population.size(), 7);
  const at::Tensor size = population.gaussians().log_scales.detach().amax(1).exp();
  EXPECT_EQ(size.gt(0.02).sum().item<int64_t>(), 2);
  EXPECT_NEAR(size.max().item<double>(), 0.05 / 1.6, 1e-4);
  EXPECT_FALSE((population.gaussians().means.detach()[5] - start.means[1]).abs().sum().item<double>() == 0);
  // A run that goes on has seen the same.
  Population other(start);
  const auto resumed = make_strategy(config, 1);
  resumed->load(kept, "file", 6);
  resumed->after_step(other, due_step());
  EXPECT_TRUE(other.gaussians().means.equal(population.gaussians().means));
  EXPECT_SENTENCE(resumed->load(kept, "file", 5), "expected [5]");
}

TEST(Classic, OpacitiesAreResetAndTheBudgetHolds) {
  SplatConfig config;
  config.strategy = SplatStrategy::classic;
  config.most = 7;
  Population population(some_gaussians(6, config));
  const auto strategy = make_strategy(config, 1);
  at::Tensor offsets = at::zeros({6, 2}).requires_grad_();
  offsets.sum().backward();
  strategy->watch({at::zeros({3, 8, 8}), {}, {}, at::ones({6, 2}, at::kLong)}, offsets);
  SplatStep step = due_step(0.101);
  step.before = 0.099;
  strategy->after_step(population, step);
  EXPECT_EQ(population.size(), 7);
  EXPECT_LE(population.gaussians().opacity_logits.detach().sigmoid().max().item<double>(), 0.01 + 1e-6);
}

TEST(Exposure, TellsWhatThePhotosCamerasDidFromTheScene) {
  at::manual_seed(3);
  const at::Tensor scene = 0.2 + 0.6 * at::rand({3, 4, 5});
  const at::Tensor darker = at::tensor({0.8F, 0.7F, 0.9F}).reshape({3, 1, 1}) * scene - 0.05;
  const at::Tensor lighter = 2 * scene - darker;
  SplatRates rates;
  rates.exposure = 0.003;
  Exposures exposures(2);
  EXPECT_LT((exposures.seen(scene, 1) - scene).abs().max().item<double>(), 1e-6);
  for (int step = 0; step < 1500; ++step) {
    const at::Tensor seen = exposures.seen(scene, step % 2);
    (seen - (step % 2 == 0 ? darker : lighter)).square().sum().backward();
    exposures.step(rates);
  }
  EXPECT_LT((exposures.seen(scene, 0) - darker).abs().max().item<double>(), 0.02);
  EXPECT_LT((exposures.seen(scene, 1) - lighter).abs().max().item<double>(), 0.02);
  const at::Tensor both = (exposures.seen(scene, 0) + exposures.seen(scene, 1)) / 2;
  EXPECT_LT((both - scene).abs().max().item<double>(), 1e-5) << "the mean exposure changes nothing";
}

TEST(Exposure, IsKeptInAFile) {
  const at::Tensor scene = at::full({3, 2, 2}, 0.5);
  SplatRates rates;
  rates.exposure = 0.01;
  Exposures exposures(3), others(3), fewer(2);
  exposures.seen(scene, 2).sum().backward();
  exposures.step(rates);
  std::map<std::string, at::Tensor> file;
  exposures.save(file);
  others.load(file, "a file");
  EXPECT_TRUE(at::equal(others.seen(scene, 2), exposures.seen(scene, 2)));
  EXPECT_SENTENCE(fewer.load(file, "a file"), "a file: has no exposures for 2 photos");
}

TEST(SplatConfigs, WrongValuesAreRefused) {
  SplatConfig config;
  config.check();
  config.rates.position_end = 1;
  EXPECT_SENTENCE(config.check(), "rates.position_end is 1");
  config = {};
  config.background = {1, 1};
  EXPECT_SENTENCE(config.check(), "background has 2 numbers");
  config = {};
  config.mcmc.initial_opacity = 1;
  EXPECT_SENTENCE(config.check(), "mcmc.initial_opacity is 1");
  config = {};
  config.dropout = 1;
  EXPECT_SENTENCE(config.check(), "dropout is 1");
}

}  // namespace
}  // namespace lact::tasks::nvs
