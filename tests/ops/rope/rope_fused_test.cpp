#include "lact/ops/dispatch/paths.h"
#include "lact/ops/rope/rope.h"
#include "support/like_reference.h"
#include "support/positions.h"

namespace lact::ops {
namespace {

using lact::testing::line;

using lact::testing::expect_like_reference;
using lact::testing::for_each_isa;

constexpr RopePairs kBothPairs[] = {RopePairs::halves, RopePairs::neighbours};

TEST(RopeFused, EqualsTheReferenceAtEveryWidth) {
  at::manual_seed(1);
  for_each_isa([](const std::string&) {
    for (const auto pairs : kBothPairs) {
      for (const int64_t width : {2, 6, 14, 64, 100, 128}) {
        SCOPED_TRACE(width);
        const auto table = rope_table(line(1000, 1063), width, {100, pairs});
        const at::Tensor x = at::randn({2, 63, 3, width});
        const auto fused = [&](const auto& x) { return rope(x[0], table, pairs); };
        const auto plain = [&](const auto& x) { return reference::rope(x[0], table, pairs); };
        expect_like_reference(fused, plain, {x}, 1e-6);
        expect_like_reference(fused, plain, {x.to(at::kBFloat16)}, 5e-3);
      }
    }
  });
}

TEST(RopeFused, ViewsOfQAndKAreReadWhereTheyStand) {
  at::manual_seed(2);
  for (const auto pairs : kBothPairs) {
    const auto table = rope_table(line(0, 9), 20, {100, pairs});
    const auto view = [](const at::Tensor& x) { return x.chunk(3, -1)[1].unflatten(-1, {2, 20}); };
    expect_like_reference([&](const auto& x) { return rope(view(x[0]), table, pairs); },
                          [&](const auto& x) { return reference::rope(view(x[0]), table, pairs); },
                          {at::randn({2, 9, 120})}, 1e-6);
    const auto rotated = [](const at::Tensor& x) { return x.transpose(1, 3); };
    expect_like_reference([&](const auto& x) { return rope(rotated(x[0]), table, pairs); },
                          [&](const auto& x) { return reference::rope(rotated(x[0]), table, pairs); },
                          {at::randn({2, 20, 3, 9})}, 1e-6);
  }
}

TEST(RopeFused, ResultIsContiguous) {
  const auto table = rope_table(line(0, 5), 8, {});
  const at::Tensor x = at::randn({2, 3, 5, 8}).transpose(1, 2);
  EXPECT_TRUE(rope(x, table, RopePairs::halves).is_contiguous());
  EXPECT_EQ(rope(at::empty({0, 5, 3, 8}), table, RopePairs::halves).numel(), 0);
}

TEST(RopeFused, TheFloat32TableIsTheFloat64OneRounded) {
  const auto table = rope_table(line(1'000'000, 1'000'009), 64, {});
  EXPECT_TRUE(table.angles[0].equal(table.cos.to(at::kFloat)));
  EXPECT_TRUE(table.angles[1].equal(table.sin.to(at::kFloat)));
}

}  // namespace
}  // namespace lact::ops
