#include "lact/kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "lact/kernels/products.h"

namespace lact::kernels {
namespace {

uint16_t to_bf16(float x) {
  const auto bits = __builtin_bit_cast(uint32_t, x);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
float from_bf16(uint16_t x) { return __builtin_bit_cast(float, uint32_t(x) << 16); }

/// A matrix in memory, by rows or by columns, with room between them.
struct Memory {
  Memory(int64_t rows, int64_t columns, bool bf16, bool by_rows, std::mt19937& random) : bf16(bf16) {
    const int64_t stride = (by_rows ? columns : rows) + 5;
    row_stride = by_rows ? stride : 1, column_stride = by_rows ? 1 : stride;
    std::normal_distribution<float> normal;
    // NaN where nobody may look.
    const auto size = size_t((by_rows ? rows : columns) * stride);
    singles.assign(size, NAN), halves.assign(size, 0x7fc0);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        // Exact in bfloat16, so that every way to multiply has the same operands.
        halves[at(r, c)] = to_bf16(normal(random));
        singles[at(r, c)] = from_bf16(halves[at(r, c)]);
      }
    }
  }
  size_t at(int64_t r, int64_t c) const { return size_t(r * row_stride + c * column_stride); }
  GemmSource source() const {
    return {bf16 ? static_cast<const void*>(halves.data()) : singles.data(), bf16, row_stride, column_stride};
  }
  bool bf16;
  int64_t row_stride, column_stride;
  std::vector<float> singles;
  std::vector<uint16_t> halves;
};

struct Case {
  int64_t rows, columns, depth;
  bool a_bf16, a_by_rows, b_bf16, b_by_rows, out_bf16, adds, biased, pairs;
};

void check(const Case& c, std::mt19937& random) {
  const auto& gemm = gemm_kernels();
  const Memory a(c.rows, c.depth, c.a_bf16, c.a_by_rows, random);
  const Memory b(c.depth, c.columns, c.b_bf16, c.b_by_rows, random);
  const Memory start(c.rows, c.columns, false, true, random), bias(1, c.columns, false, true, random);

  const int64_t words = c.pairs ? (c.depth + 1) / 2 : c.depth;
  const int64_t left_stride =
      (c.a_by_rows ? words : round_up_to(words, kSliverWords) * gemm.tile_rows) + kGemmOverrun;
  const int64_t right_stride = words * kGemmPanel;
  std::vector<uint32_t> left(size_t((c.rows + gemm.tile_rows) * left_stride), 0x7fc07fc0);
  std::vector<uint32_t> right(size_t((c.columns + 31) / 32 * right_stride), 0x7fc07fc0);
  gemm.pack_left(a.source(), c.rows, c.depth, c.pairs, left.data(), left_stride);
  gemm.pack_right(b.source(), c.depth, c.columns, c.pairs, right.data(), right_stride);

  std::vector<float> singles(start.singles);
  std::vector<uint16_t> halves(singles.size(), 0x7fc0);
  GemmResult result = {singles.data(), false, start.row_stride, nullptr, start.row_stride, nullptr};
  if (c.out_bf16) result.to = halves.data(), result.bf16 = true;
  if (c.adds) result.add = c.out_bf16 ? start.singles.data() : singles.data();
  if (c.biased) result.bias = bias.singles.data();
  const GemmAhead ahead = {static_cast<const char*>(a.source().data), 64, 8, 16, 2, 32, 3};
  gemm.multiply({left.data(), left_stride, !c.a_by_rows}, {right.data(), right_stride}, c.rows, c.columns,
                words, c.pairs, result, ahead);

  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.columns; ++j) {
      double truth = (c.adds ? start.singles[start.at(i, j)] : 0) + (c.biased ? bias.singles[size_t(j)] : 0);
      for (int64_t k = 0; k < c.depth; ++k)
        truth += double(a.singles[a.at(i, k)]) * double(b.singles[b.at(k, j)]);
      const double ours = c.out_bf16 ? from_bf16(halves[start.at(i, j)]) : singles[start.at(i, j)];
      const double bound = (c.out_bf16 ? 1. / 256 : 1e-6) * (std::abs(truth) + std::sqrt(double(c.depth)));
      ASSERT_NEAR(ours, truth, bound) << "at " << i << ", " << j;
    }
  }
  // Nothing beside the result is touched.
  for (int64_t i = 0; i + 1 < c.rows; ++i) {
    ASSERT_TRUE(std::isnan(singles[start.at(i, c.columns)]));
    ASSERT_EQ(halves[start.at(i, c.columns)], 0x7fc0);
  }
}

TEST(Gemm, EveryFormTypeAndEnding) {
  const Isa best = isa();
  std::mt19937 random(1);
  const int64_t sizes[][3] = {{1, 1, 1},    {13, 31, 2},  {14, 32, 16}, {29, 70, 9},
                              {55, 96, 33}, {70, 64, 64}, {61, 40, 71}};
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
    if (!set_isa(isa)) continue;
    for (const auto& [rows, columns, depth] : sizes) {
      for (int bits = 0; bits < 256; ++bits) {
        const auto bit = [&](int i) { return ((bits >> i) & 1) != 0; };
        SCOPED_TRACE(std::string(isa_name(isa)) + ", " + std::to_string(rows) + " x " +
                     std::to_string(columns) + " x " + std::to_string(depth) + ", case " +
                     std::to_string(bits));
        check({rows, columns, depth, bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6), bit(7)}, random);
      }
    }
  }
  set_isa(best);
}

}  // namespace
}  // namespace lact::kernels
