#include "lact/kernels/compress.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/kernels/gemv.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::kernels {
namespace {

using lact::testing::for_each_isa;

double sum_of_squares(const at::Tensor& x) { return x.to(at::kDouble).square().sum().item<double>(); }

void expect_nearly(double found, double expected, const std::string& where) {
  EXPECT_NEAR(found, expected, 1e-5 * expected + 1e-30) << where;
}

TEST(Compress, HalvesAreRoundedToTheNearest) {
  at::manual_seed(5);
  for_each_isa([](const std::string& isa) {
    for (const int64_t count : {1, 7, 16, 63, 100, 5000}) {
      const at::Tensor x = at::randn({count}), expected = x.to(at::kBFloat16);
      const at::Tensor to = at::full({count + 1}, 7, at::kBFloat16);
      const auto error =
          compress_kernels().halves(x.data_ptr<float>(), count, static_cast<uint16_t*>(to.data_ptr()));
      EXPECT_TRUE(to.narrow(0, 0, count).equal(expected)) << isa << ", " << count;
      EXPECT_EQ(to[count].item<float>(), 7);
      expect_nearly(error.whole, sum_of_squares(x), isa);
      expect_nearly(error.lost, sum_of_squares(expected.to(at::kFloat) - x), isa);
      expect_nearly(compress_kernels().squares(x.data_ptr<float>(), count), sum_of_squares(x), isa);
      expect_nearly(
          compress_kernels().squares_of_halves(static_cast<const uint16_t*>(expected.data_ptr()), count),
          sum_of_squares(expected), isa);
    }
  });
}

TEST(Compress, BytesHaveTheLargestOfAGroupAt127) {
  at::manual_seed(6);
  for_each_isa([](const std::string& isa) {
    for (const int64_t groups : {1, 2, 5}) {
      const int64_t width = groups * kByteGroup;
      at::Tensor x = at::randn({groups, kByteGroup});
      if (groups > 1) x[1].zero_();
      const at::Tensor to = at::full({width + 1}, 7, at::kByte), scales = at::full({groups}, NAN);
      const auto error = compress_kernels().bytes(x.data_ptr<float>(), width, to.data_ptr<uint8_t>(),
                                                  scales.data_ptr<float>());
      const at::Tensor scale = x.abs().amax(1) / 127;
      EXPECT_LT((scales - scale).abs().max().item<double>(), 1e-8) << isa;
      const at::Tensor bytes = to.narrow(0, 0, width).view({groups, -1}).to(at::kFloat) - 128;
      const at::Tensor found = bytes * scales.unsqueeze(1);
      EXPECT_TRUE(((found - x).abs() <= 0.5001 * scales.unsqueeze(1)).all().item<bool>()) << isa;
      EXPECT_EQ(to[width].item<int64_t>(), 7);
      expect_nearly(error.whole, sum_of_squares(x), isa);
      expect_nearly(error.lost, sum_of_squares(found - x), isa);
    }
  });
}

TEST(Compress, WhatIsNotFiniteShowsInTheError) {
  for_each_isa([](const std::string& isa) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const int64_t place : {0, 77, 127}) {
        const at::Tensor x = at::randn({kByteGroup});
        x[place] = bad;
        const at::Tensor to = at::empty({kByteGroup}, at::kBFloat16), scale = at::empty({1});
        auto* halves = static_cast<uint16_t*>(to.data_ptr());
        EXPECT_FALSE(std::isfinite(compress_kernels().halves(x.data_ptr<float>(), kByteGroup, halves).whole))
            << isa;
        EXPECT_FALSE(std::isfinite(compress_kernels().squares_of_halves(halves, kByteGroup))) << isa;
        EXPECT_FALSE(std::isfinite(compress_kernels()
                                       .bytes(x.data_ptr<float>(), kByteGroup,
                                              static_cast<uint8_t*>(to.data_ptr()), scale.data_ptr<float>())
                                       .whole))
            << isa;
      }
    }
  });
}

}  // namespace
}  // namespace lact::kernels
