#include "lact/kernels/small_matmul.h"

#include <ATen/ATen.h>

#include "support/gradients.h"

namespace lact::kernels {
namespace {

TEST(SmallMatmul, EqualsTheProductForOddSizes) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                {4, 16, 8},
                                {8, 32, 32},
                                {5, 33, 7},
                                {13, 47, 64},
                                {64, 64, 64},
                                {3, 100, 2},
                                {17, 15, 1}}) {
    const at::Tensor a = at::randn({m, k}), b = at::randn({k, n}), c = at::randn({m, n});
    for (const float keep : {0.0f, -1.5f}) {
      at::Tensor out = keep == 0 ? at::full({m, n}, std::nan("")).to(at::kFloat) : c.clone();
      small_matmul(a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), m, n, k, 0.5f, keep);
      const at::Tensor expected = 0.5 * at::matmul(a.to(at::kDouble), b.to(at::kDouble)) + keep * c;
      EXPECT_LT(lact::testing::difference(out, expected), 1e-5) << m << " x " << n << " x " << k;
    }
  }
}

TEST(SmallMatmul, Transposes) {
  for (const auto& [m, n] : {std::pair{1, 1}, {16, 16}, {17, 40}, {64, 3}}) {
    const at::Tensor a = at::randn({m, n});
    at::Tensor b = at::empty({n, m});
    small_transpose(a.data_ptr<float>(), b.data_ptr<float>(), m, n);
    EXPECT_TRUE(b.equal(a.t().contiguous()));
  }
}

}  // namespace
}  // namespace lact::kernels
