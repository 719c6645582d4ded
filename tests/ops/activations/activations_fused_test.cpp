#include "lact/ops/activations/activations.h"
#include "lact/ops/norms/norms.h"
#include "support/errors.h"
#include "support/like_reference.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_like_reference;
using lact::testing::for_each_isa;
using lact::testing::randn;

at::Tensor gated(const std::vector<at::Tensor>& x) { return gated_silu(x[0], x[1]); }
at::Tensor gated_plainly(const std::vector<at::Tensor>& x) { return reference::gated_silu(x[0], x[1]); }

TEST(ActivationsFused, GatedSiluEqualsTheReferenceAtEveryWidth) {
  at::manual_seed(1);
  for_each_isa([](const std::string&) {
    for (const int64_t width : {1, 7, 63, 100, 768}) {
      SCOPED_TRACE(width);
      const at::Tensor gate = at::randn({3, 67, width}) * 4, up = at::randn({3, 67, width});
      expect_like_reference(gated, gated_plainly, {gate, up}, 2e-6);
      expect_like_reference(gated, gated_plainly, {gate.to(at::kBFloat16), up.to(at::kBFloat16)}, 5e-3);
    }
  });
}

TEST(ActivationsFused, GatedSiluReadsViews) {
  at::manual_seed(2);
  // Gate and up side by side, as one product would make them.
  const auto halves = [](auto function) {
    return [=](const std::vector<at::Tensor>& x) {
      const auto parts = x[0].chunk(2, -1);
      return function({parts[0], parts[1]});
    };
  };
  expect_like_reference(halves(gated), halves(gated_plainly), {at::randn({2, 9, 74})}, 2e-6);
  const auto turned = [](auto function) {
    return [=](const std::vector<at::Tensor>& x) { return function({x[0].t(), x[1]}); };
  };
  expect_like_reference(turned(gated), turned(gated_plainly), {at::randn({31, 9}), at::randn({9, 31})}, 2e-6);
}

TEST(ActivationsFused, ExtremeGatesAreFiniteAndNotANumberStays) {
  for_each_isa([](const std::string&) {
    const at::Tensor gate = at::tensor({-3e38f, -1e30f, -1000.f, -88.f, -60.f, 0.f, 88.f, 1e30f});
    const at::Tensor up = at::ones({8});
    expect_like_reference(gated, gated_plainly, {gate, up}, 1e-6);
    const at::Tensor odd = gated_silu(at::full({40}, std::nan("")), at::ones({40}));
    EXPECT_TRUE(odd.isnan().all().item<bool>());
  });
}

at::Tensor gelu(const std::vector<at::Tensor>& x) { return gelu_tanh(x[0]); }
at::Tensor gelu_plainly(const std::vector<at::Tensor>& x) { return reference::gelu_tanh(x[0]); }

TEST(ActivationsFused, GeluEqualsTheReferenceAtEveryWidthAndInViews) {
  at::manual_seed(4);
  for_each_isa([](const std::string&) {
    for (const int64_t width : {1, 7, 63, 384}) {
      SCOPED_TRACE(width);
      const at::Tensor x = at::randn({3, 67, width}) * 4;
      expect_like_reference(gelu, gelu_plainly, {x}, 2e-6);
      expect_like_reference(gelu, gelu_plainly, {x.to(at::kBFloat16)}, 5e-3);
    }
    const auto turned = [](auto function) {
      return [=](const std::vector<at::Tensor>& x) { return function({x[0].t()}); };
    };
    expect_like_reference(turned(gelu), turned(gelu_plainly), {at::randn({31, 9})}, 2e-6);
  });
}

TEST(ActivationsFused, GeluOfExtremesIsFiniteAndNotANumberStays) {
  for_each_isa([](const std::string&) {
    const at::Tensor x = at::tensor({-1e12f, -1000.f, -21.f, -6.f, 0.f, 6.f, 21.f, 1e12f});
    expect_like_reference(gelu, gelu_plainly, {x}, 1e-6);
    EXPECT_TRUE(gelu_tanh(at::full({40}, std::nan(""))).isnan().all().item<bool>());
  });
}

TEST(ActivationsFused, SiluL2NormalizeIsTheTwoStepsOneAfterTheOther) {
  at::manual_seed(3);
  const at::Tensor precise = randn({4, 6, 20});
  EXPECT_LT(difference(silu_l2_normalize(precise, 1e-5), l2_normalize(at::silu(precise), 1e-5)), 1e-14);
  const at::Tensor x = precise.to(at::kFloat);
  EXPECT_LT(difference(silu_l2_normalize(x, 1e-5), l2_normalize(at::silu(x), 1e-5)), 1e-6);
}

TEST(ActivationsFused, DifferentShapesAreASentence) {
  EXPECT_SENTENCE(gated_silu(at::randn({2, 3}), at::randn({2, 4})), "gate has shape [2, 3]");
}

}  // namespace
}  // namespace lact::ops
