#include "lact/kernels/gemv.h"

#include <ATen/ATen.h>

#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::kernels {
namespace {

using lact::testing::difference;
using lact::testing::for_each_isa_and_pairs;

const uint16_t* halves_of(const at::Tensor& x) {
  return reinterpret_cast<const uint16_t*>(x.data_ptr<at::BFloat16>());
}

at::Tensor product(const at::Tensor& weight, const at::Tensor& x) {
  return at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t());
}

/// Results lie in a wider tensor whose other numbers must not change.
struct Target {
  at::Tensor whole;
  at::Tensor y;
  Target(int64_t tokens, int64_t rows)
      : whole(at::full({tokens, rows + 3}, 7.f)), y(whole.narrow(1, 0, rows)) {}
  float* data() { return y.data_ptr<float>(); }
  int64_t stride() const { return whole.size(1); }
  bool untouched() const { return whole.slice(1, y.size(1)).eq(7).all().item<bool>(); }
};

TEST(Gemv, SinglesEqualTheProductForAnyWidth) {
  for_each_isa_and_pairs([](const std::string& name) {
    for (const int64_t width : {1, 7, 16, 63, 100, 192, 1000}) {
      for (const int64_t tokens : {1, 2, 3, 5, 8, 13}) {
        const at::Tensor weight = at::randn({9, width}), x = at::randn({tokens, width});
        Target target(tokens, 9);
        gemv_kernels().singles(weight.data_ptr<float>(), {9, width}, x.data_ptr<float>(), tokens,
                               target.data(), target.stride());
        EXPECT_LT(difference(target.y, product(weight, x)), 1e-6) << name << ", " << width << " wide";
        EXPECT_TRUE(target.untouched());
      }
    }
  });
}

TEST(Gemv, HalvesAndPairsEqualTheProductOfWhatTheyAreGiven) {
  for_each_isa_and_pairs([](const std::string& name) {
    for (const int64_t width : {32, 96, 192, 768}) {
      for (const int64_t tokens : {1, 2, 3, 7, 8, 9}) {
        const at::Tensor weight = at::randn({5, width}).to(at::kBFloat16), x = at::randn({tokens, width});
        at::Tensor arranged = at::empty_like(x);
        gemv_kernels().arrange(x.data_ptr<float>(), x.numel(), arranged.data_ptr<float>());
        Target target(tokens, 5);
        gemv_kernels().halves(halves_of(weight), {5, width}, arranged.data_ptr<float>(), tokens,
                              target.data(), target.stride());
        EXPECT_LT(difference(target.y, product(weight, x)), 1e-6) << name << ", " << width << " wide";

        const at::Tensor rounded = x.to(at::kBFloat16);
        gemv_kernels().pairs(halves_of(weight), {5, width}, halves_of(rounded), tokens, target.data(),
                             target.stride());
        EXPECT_LT(difference(target.y, product(weight, rounded)), 1e-6) << name << ", " << width << " wide";
        EXPECT_TRUE(target.untouched());
      }
    }
  });
}

TEST(Gemv, BytesEqualTheProductOfWhatTheyStandFor) {
  for_each_isa_and_pairs([](const std::string& name) {
    for (const int64_t groups : {1, 2, 3, 6}) {
      for (const int64_t tokens : {1, 2, 3, 8, 11}) {
        const int64_t width = groups * kByteGroup;
        const at::Tensor weight = at::randint(1, 256, {5, width}, at::kByte), scales = at::rand({5, groups});
        const at::Tensor x = at::randn({tokens, width});
        at::Tensor bytes = at::empty({tokens, width}, at::kChar), x_scales = at::empty({tokens, groups});
        at::Tensor sums = at::empty({tokens, groups}, at::kInt);
        gemv_kernels().quantize(x.data_ptr<float>(), x.numel(), bytes.data_ptr<int8_t>(),
                                x_scales.data_ptr<float>(), sums.data_ptr<int32_t>());
        const at::Tensor in_groups = bytes.to(at::kDouble).unflatten(1, {groups, kByteGroup});
        EXPECT_TRUE(sums.eq(-128 * in_groups.sum(2)).all().item<bool>()) << name;
        const at::Tensor meant_x = (in_groups * x_scales.unsqueeze(2)).flatten(1);
        // Half a step of a byte, of a group's largest number.
        EXPECT_LT(difference(meant_x, x), 0.51 / 127) << name;

        Target target(tokens, 5);
        gemv_kernels().bytes(weight.data_ptr<uint8_t>(), scales.data_ptr<float>(), {5, width},
                             {bytes.data_ptr<int8_t>(), x_scales.data_ptr<float>(), sums.data_ptr<int32_t>()},
                             tokens, target.data(), target.stride());
        const at::Tensor meant_weight =
            ((weight.to(at::kDouble) - 128).unflatten(1, {groups, kByteGroup}) * scales.unsqueeze(2))
                .flatten(1);
        EXPECT_LT(difference(target.y, product(meant_weight, meant_x)), 1e-6) << name;
        EXPECT_TRUE(target.untouched());
      }
    }
  });
}

// A text must have the same numbers whoever is written beside it.
TEST(Gemv, ATokensNumbersDoNotDependOnTheOthers) {
  for_each_isa_and_pairs([](const std::string& name) {
    constexpr int64_t kRows = 5, kWidth = 768, kTokens = 13, kGroups = kWidth / kByteGroup;
    const auto& kernels = gemv_kernels();
    const at::Tensor weight = at::randn({kRows, kWidth}), x = at::randn({kTokens, kWidth});
    const at::Tensor halves = weight.to(at::kBFloat16), rounded = x.to(at::kBFloat16);
    const at::Tensor bytes = at::randint(1, 256, {kRows, kWidth}, at::kByte),
                     scales = at::rand({kRows, kGroups});
    at::Tensor x_bytes = at::empty({kTokens, kWidth}, at::kChar), x_scales = at::empty({kTokens, kGroups});
    at::Tensor sums = at::empty({kTokens, kGroups}, at::kInt);
    kernels.quantize(x.data_ptr<float>(), x.numel(), x_bytes.data_ptr<int8_t>(), x_scales.data_ptr<float>(),
                     sums.data_ptr<int32_t>());
    using Run = std::function<void(int64_t first, int64_t count, float* y)>;
    const Run singles = [&](int64_t first, int64_t count, float* y) {
      kernels.singles(weight.data_ptr<float>(), {kRows, kWidth}, x.data_ptr<float>() + first * kWidth, count,
                      y, kRows);
    };
    const Run of_halves = [&](int64_t first, int64_t count, float* y) {
      kernels.halves(halves_of(halves), {kRows, kWidth}, x.data_ptr<float>() + first * kWidth, count, y,
                     kRows);
    };
    const Run pairs = [&](int64_t first, int64_t count, float* y) {
      kernels.pairs(halves_of(halves), {kRows, kWidth}, halves_of(rounded) + first * kWidth, count, y, kRows);
    };
    const Run of_bytes = [&](int64_t first, int64_t count, float* y) {
      const ByteTokens from = {x_bytes.data_ptr<int8_t>() + first * kWidth,
                               x_scales.data_ptr<float>() + first * kGroups,
                               sums.data_ptr<int32_t>() + first * kGroups};
      kernels.bytes(bytes.data_ptr<uint8_t>(), scales.data_ptr<float>(), {kRows, kWidth}, from, count, y,
                    kRows);
    };
    for (const Run& run : {singles, of_halves, pairs, of_bytes}) {
      at::Tensor together = at::empty({kTokens, kRows}), alone = at::empty({kTokens, kRows});
      run(0, kTokens, together.data_ptr<float>());
      for (int64_t t = 0; t < kTokens; ++t) run(t, 1, alone.data_ptr<float>() + t * kRows);
      EXPECT_TRUE(together.equal(alone)) << name;
    }
  });
}

TEST(Gemv, ExtremeBytesDoNotOverflow) {
  for_each_isa_and_pairs([](const std::string& name) {
    const at::Tensor weight = at::full({1, kByteGroup}, 255, at::kByte), scale = at::ones({1});
    for (const float sign : {1.f, -1.f}) {
      const at::Tensor x = at::full({1, kByteGroup}, sign * 127.f);
      at::Tensor bytes = at::empty({1, kByteGroup}, at::kChar), x_scale = at::empty({1}), y = at::empty({1});
      at::Tensor sum = at::empty({1}, at::kInt);
      gemv_kernels().quantize(x.data_ptr<float>(), kByteGroup, bytes.data_ptr<int8_t>(),
                              x_scale.data_ptr<float>(), sum.data_ptr<int32_t>());
      gemv_kernels().bytes(weight.data_ptr<uint8_t>(), scale.data_ptr<float>(), {1, kByteGroup},
                           {bytes.data_ptr<int8_t>(), x_scale.data_ptr<float>(), sum.data_ptr<int32_t>()}, 1,
                           y.data_ptr<float>(), 1);
      EXPECT_EQ(y.item<float>(), sign * 127 * 127 * kByteGroup) << name;
    }
  });
}

TEST(Gemv, NanStaysNanInBytesAndZerosStayZero) {
  for_each_isa_and_pairs([](const std::string& name) {
    at::Tensor x = at::zeros({kByteGroup}), scale = at::empty({1});
    at::Tensor bytes = at::empty({kByteGroup}, at::kChar), sum = at::empty({1}, at::kInt);
    const auto quantize = [&] {
      gemv_kernels().quantize(x.data_ptr<float>(), kByteGroup, bytes.data_ptr<int8_t>(),
                              scale.data_ptr<float>(), sum.data_ptr<int32_t>());
    };
    quantize();
    EXPECT_EQ(scale.item<float>(), 0) << name;
    EXPECT_TRUE(bytes.eq(0).all().item<bool>()) << name;
    for (const double wrong : {std::nan(""), double(INFINITY)}) {
      x[70] = wrong;
      quantize();
      EXPECT_TRUE(std::isnan(scale.item<float>())) << name;
    }
  });
}

}  // namespace
}  // namespace lact::kernels
