// The loops that measure the machine do the work that they count.
#include "lact/kernels/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lact::kernels {
namespace {

constexpr Isa kAll[] = {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

class LimitsTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!set_isa(GetParam())) GTEST_SKIP() << "this processor has no " << isa_name(GetParam());
  }
  void TearDown() override { set_isa(best_isa()); }
};

TEST_P(LimitsTest, RegisterLoopsCountInProportionAndStayFinite) {
  for (const RegisterLoop loop : {limits_kernels().f32, limits_kernels().bf16, limits_kernels().int8}) {
    if (loop == nullptr) continue;
    std::vector<float> sink(64, 0.5f);
    const int64_t once = loop(10, sink.data());
    EXPECT_GT(once, 0);
    EXPECT_EQ(loop(30, sink.data()), 3 * once);
    for (const float value : sink) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(LimitsTest, ABf16LoopExistsWhereTheInstructionDoes) {
  EXPECT_EQ(limits_kernels().bf16 != nullptr, GetParam() >= Isa::avx512_bf16);
  EXPECT_EQ(limits_kernels().int8 != nullptr, GetParam() >= Isa::avx512);
}

TEST_P(LimitsTest, StreamsTouchEveryNumber) {
  std::vector<float> from(1024), to(1024, -1.f);
  float sum = 0;
  for (size_t i = 0; i < from.size(); ++i) sum += from[i] = float(i % 7);
  EXPECT_EQ(limits_kernels().read(from.data(), int64_t(from.size())), sum);
  limits_kernels().copy(to.data(), from.data(), int64_t(from.size()));
  EXPECT_EQ(to, from);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, LimitsTest, ::testing::ValuesIn(kAll));

}  // namespace
}  // namespace lact::kernels
