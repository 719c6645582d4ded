#include "lact/ops/norms/norms_fused.h"

#include "lact/ops/activations/activations.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/norms/norms.h"
#include "support/like_reference.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_like_reference;
using lact::testing::for_each_isa;
using lact::testing::Scalar;

struct Case {
  std::string name;
  Scalar fused, reference;
  int64_t channels;  ///< how many of weight and bias it takes
};

std::vector<Case> cases(double epsilon) {
  return {
      {"l2", [=](const auto& x) { return l2_normalize(x[0], epsilon); },
       [=](const auto& x) { return reference::l2_normalize(x[0], epsilon); }, 0},
      {"silu_l2", [=](const auto& x) { return silu_l2_normalize(x[0], epsilon); },
       [=](const auto& x) { return reference::silu_l2_normalize(x[0], epsilon); }, 0},
      {"rms", [=](const auto& x) { return rms_norm(x[0], {}, epsilon); },
       [=](const auto& x) { return reference::rms_norm(x[0], {}, epsilon); }, 0},
      {"rms with weight", [=](const auto& x) { return rms_norm(x[0], x[1], epsilon); },
       [=](const auto& x) { return reference::rms_norm(x[0], x[1], epsilon); }, 1},
      {"layer with weight and bias", [=](const auto& x) { return layer_norm(x[0], x[1], x[2], epsilon); },
       [=](const auto& x) { return reference::layer_norm(x[0], x[1], x[2], epsilon); }, 2},
      {"layer with bias", [=](const auto& x) { return layer_norm(x[0], {}, x[1], epsilon); },
       [=](const auto& x) { return reference::layer_norm(x[0], {}, x[1], epsilon); }, 1},
      {"scale and shift", [=](const auto& x) { return scale_shift(x[0], x[1], x[2]); },
       [=](const auto& x) { return reference::scale_shift(x[0], x[1], x[2]); }, 2},
  };
}

std::vector<at::Tensor> inputs_of(const Case& c, const at::Tensor& x) {
  std::vector<at::Tensor> inputs = {x};
  for (int64_t i = 0; i < c.channels; ++i) inputs.push_back(at::randn({x.size(-1)}));
  return inputs;
}

TEST(NormsFused, EqualsTheReferenceAtEveryWidth) {
  at::manual_seed(1);
  for_each_isa([](const std::string&) {
    for (const int64_t width : {7, 63, 100, 768}) {
      for (const auto& c : cases(1e-5)) {
        SCOPED_TRACE(c.name + " " + std::to_string(width));
        expect_like_reference(c.fused, c.reference, inputs_of(c, at::randn({3, 67, width})), 3e-6);
      }
    }
  });
}

TEST(NormsFused, OneChannel) {
  at::manual_seed(2);
  for (const auto& c : cases(0.1)) {
    SCOPED_TRACE(c.name);
    expect_like_reference(c.fused, c.reference, inputs_of(c, at::randn({50, 1})), 3e-6);
  }
}

TEST(NormsFused, ManyRowsShareTheGradientOfTheWeight) {
  at::manual_seed(3);
  for (const auto& c : cases(1e-5)) {
    SCOPED_TRACE(c.name);
    expect_like_reference(c.fused, c.reference, inputs_of(c, at::randn({5000, 64})), 5e-6);
  }
}

TEST(NormsFused, ViewsAreReadWhereTheyStand) {
  at::manual_seed(4);
  const auto through = [](const Scalar& function, auto view) {
    return Scalar([=](const std::vector<at::Tensor>& x) {
      auto arguments = x;
      arguments[0] = view(x[0]);
      return function(arguments);
    });
  };
  const std::vector<std::pair<std::string, std::function<at::Tensor(const at::Tensor&)>>> views = {
      {"a third of q, k, v", [](const at::Tensor& x) { return x.chunk(3, -1)[1]; }},
      {"its heads",
       [](const at::Tensor& x) {
         return x.chunk(3, -1)[1].unflatten(-1, {3, -1});
       }},
      {"heads first",
       [](const at::Tensor& x) {
         return x.chunk(3, -1)[1].unflatten(-1, {3, -1}).transpose(1, 2);
       }},
      {"turned over", [](const at::Tensor& x) { return x.transpose(1, 2); }},
      {"every other channel", [](const at::Tensor& x) { return x.slice(2, 0, 90, 2); }},
      {"expanded",
       [](const at::Tensor& x) {
         return x.unsqueeze(1).expand({2, 4, 11, 90});
       }},
  };
  for (const auto& [name, view] : views) {
    for (const auto& c : cases(1e-5)) {
      SCOPED_TRACE(name + ", " + c.name);
      const at::Tensor x = at::randn({2, 11, 90});
      auto inputs = inputs_of(c, view(x));
      inputs[0] = x;
      expect_like_reference(through(c.fused, view), through(c.reference, view), inputs, 3e-6);
    }
  }
}

TEST(NormsFused, PermutedLayoutsAreKept) {
  const at::Tensor x = at::randn({2, 3, 5, 16}).transpose(1, 2);
  EXPECT_EQ(rms_norm(x, {}, 1e-5).strides(), x.strides());
}

TEST(NormsFused, Bfloat16IsRoundedOnce) {
  at::manual_seed(5);
  for_each_isa([](const std::string&) {
    for (const int64_t width : {7, 100, 768}) {
      for (const auto& c : cases(1e-5)) {
        SCOPED_TRACE(c.name);
        // Parameters stay float32.
        expect_like_reference(c.fused, c.reference, inputs_of(c, at::randn({20, width}).to(at::kBFloat16)),
                              5e-3);
      }
    }
  });
}

TEST(NormsFused, HugeAndTinyRows) {
  at::manual_seed(6);
  for_each_isa([](const std::string&) {
    for (const double scale : {1e-30, 1e-18, 1e18, 1e30}) {
      for (const auto& c : cases(1e-38)) {
        if (c.name == "silu_l2" || c.name == "scale and shift") continue;
        SCOPED_TRACE(c.name + " " + std::to_string(scale));
        expect_like_reference(c.fused, c.reference, inputs_of(c, at::randn({9, 100}) * scale), 1e-5);
      }
      const Case c = cases(1e-5)[1];
      if (scale > 1) expect_like_reference(c.fused, c.reference, {at::randn({9, 100}) * scale}, 1e-5);
    }
  });
}

TEST(NormsFused, ZeroRowsHaveFiniteGradients) {
  for_each_isa([](const std::string&) {
    for (const auto& c : cases(1e-5)) {
      SCOPED_TRACE(c.name);
      expect_like_reference(c.fused, c.reference, inputs_of(c, at::zeros({4, 20})), 1e-5);
    }
  });
}

TEST(NormsFused, NotANumberStays) {
  for_each_isa([](const std::string&) {
    for (const auto& c : cases(1e-5)) {
      at::Tensor x = at::randn({2, 40});
      x[1][3] = std::nan("");
      const at::Tensor y = c.fused(inputs_of(c, x));
      EXPECT_TRUE(at::isfinite(y[0]).all().item<bool>()) << c.name;
      EXPECT_TRUE(y[1][3].isnan().item<bool>()) << c.name;
    }
  });
}

TEST(NormsFused, OnlySomeInputsNeedGradients) {
  const at::Tensor x = at::randn({6, 8}).requires_grad_(true), weight = at::randn({8});
  rms_norm(x, weight, 1e-5).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
  const at::Tensor learned = at::randn({8}).requires_grad_(true);
  layer_norm(x.detach(), learned, {}, 1e-5).sum().backward();
  EXPECT_TRUE(learned.grad().defined());
  EXPECT_FALSE(rms_norm(x.detach(), weight, 1e-5).requires_grad());
}

TEST(NormsFused, CanBeSwitchedOff) {
  const at::Tensor x = at::randn({6, 8});
  set_fused_paths(false);
  const at::Tensor plain = rms_norm(x, {}, 1e-5);
  set_fused_paths(true);
  EXPECT_TRUE(plain.equal(reference::rms_norm(x, {}, 1e-5)));
}

}  // namespace
}  // namespace lact::ops
