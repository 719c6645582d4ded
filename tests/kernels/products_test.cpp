#include "lact/kernels/products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/instruction_sets.h"

namespace lact::kernels {
namespace {

class Products : public testing::OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(Sets, Products,
                         ::testing::Values(Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx),
                         testing::isa_of);

/// Small whole numbers: exact in bfloat16, and so are their products and sums in float32.
std::vector<float> numbers(int64_t count) {
  static std::mt19937 random(3);
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = float(int(random() % 9) - 4);
  return values;
}

uint16_t upper_half(float x) { return uint16_t(__builtin_bit_cast(uint32_t, x) >> 16); }

/// C of A [rows, depth] and B [depth, columns], computed through packed forms that are full of NaN
/// beforehand.
std::vector<float> packed_product(Packing packing, bool bf16, bool transposed, int64_t rows, int64_t depth,
                                  int64_t columns, const std::vector<float>& a, const std::vector<float>& b) {
  const auto& kernel = products_kernels();
  constexpr uint32_t kPoison = 0x7fc07fc0;
  std::vector<uint32_t> tiles(static_cast<size_t>(tile_form_words(packing, rows, depth)), kPoison);
  std::vector<uint32_t> panels(static_cast<size_t>(panel_form_words(packing, depth, columns)), kPoison);
  std::vector<uint16_t> a_half, b_half;
  for (const float x : a) a_half.push_back(upper_half(x));
  for (const float x : b) b_half.push_back(upper_half(x));
  const auto source = [&](const std::vector<float>& full, const std::vector<uint16_t>& half, int64_t stride) {
    return NumberRows{bf16 ? static_cast<const void*>(half.data()) : full.data(), stride, bf16};
  };
  kernel.pack_tiles(packing, source(a, a_half, depth), rows, depth, tiles.data());
  const int64_t words = words_for(packing, depth);
  if (transposed) {
    kernel.pack_panels_transposed(packing, source(b, b_half, depth), depth, columns, panels.data(),
                                  32 * words);
  } else {
    kernel.pack_panels(packing, source(b, b_half, columns), depth, columns, panels.data(), 32 * words);
  }
  const int64_t padded = round_up_to(rows, 8);
  std::vector<float> c(static_cast<size_t>(padded * round_up_to(columns, 32)), NAN);
  for (int64_t p = 0; p * 32 < columns; ++p) {
    kernel.panel_product(packing, tiles.data(), panels.data() + p * 32 * words, words, padded,
                         {c.data() + p * 32, round_up_to(columns, 32)});
  }
  return c;
}

TEST_P(Products, TilesOfATransposedMatrixAreTheSame) {
  const auto& kernel = products_kernels();
  for (const auto packing : {Packing::singles, Packing::pairs}) {
    for (const auto& [rows, depth] : {std::array<int64_t, 2>{1, 1}, {14, 16}, {15, 33}, {56, 64}, {100, 7}}) {
      const auto a = numbers(rows * depth);
      std::vector<float> turned(a.size());
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < depth; ++k) turned[size_t(k * rows + i)] = a[size_t(i * depth + k)];
      }
      std::vector<uint32_t> tiles(static_cast<size_t>(tile_form_words(packing, rows, depth))), same = tiles;
      kernel.pack_tiles(packing, {a.data(), depth}, rows, depth, tiles.data());
      kernel.pack_tiles_transposed(packing, {turned.data(), rows}, rows, depth, same.data());
      EXPECT_EQ(tiles, same) << rows << " " << depth << " packing " << int(packing);
    }
  }
}

TEST_P(Products, MultiplyWholeNumbersExactly) {
  for (const auto packing : {Packing::singles, Packing::pairs}) {
    for (const bool bf16 : {false, true}) {
      for (const bool transposed : {false, true}) {
        for (const auto& [rows, depth, columns] :
             {std::array<int64_t, 3>{1, 1, 1}, {8, 32, 32}, {7, 33, 31}, {63, 100, 65}, {40, 17, 96}}) {
          SCOPED_TRACE(::testing::Message()
                       << rows << " " << depth << " " << columns << (bf16 ? " bf16" : "")
                       << (transposed ? " transposed" : "") << " packing " << int(packing));
          const auto a = numbers(rows * depth), b = numbers(depth * columns);
          const auto c = packed_product(packing, bf16, transposed, rows, depth, columns, a, b);
          const int64_t stride = round_up_to(columns, 32);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < stride; ++j) {
              float wanted = 0;
              for (int64_t k = 0; k < depth && j < columns; ++k) {
                wanted += a[size_t(i * depth + k)] * b[size_t(transposed ? j * depth + k : k * columns + j)];
              }
              ASSERT_EQ(c[size_t(i * stride + j)], wanted) << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

TEST_P(Products, CombineWithAnotherMatrix) {
  const auto& kernel = products_kernels();
  const auto a = numbers(16 * 8), b = numbers(8 * 32), base = numbers(16 * 32);
  std::vector<uint32_t> tiles(static_cast<size_t>(tile_form_words(Packing::singles, 16, 8))), panel(8 * 32);
  kernel.pack_tiles(Packing::singles, {a.data(), 8}, 16, 8, tiles.data());
  kernel.pack_panels(Packing::singles, {b.data(), 32}, 8, 32, panel.data(), 0);
  std::vector<float> plain(16 * 32), combined = base;
  kernel.panel_product(Packing::singles, tiles.data(), panel.data(), 8, 16, {plain.data(), 32});
  kernel.panel_product(Packing::singles, tiles.data(), panel.data(), 8, 16,
                       {combined.data(), 32, 2, -3, combined.data(), 32});
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(combined[i], 2 * plain[i] - 3 * base[i]);
}

TEST_P(Products, RowsOfTheBaseHaveFactorsAndRowsBehindTheLastAreNotTouched) {
  const auto& kernel = products_kernels();
  for (const int64_t rows : {1, 3, 8, 13, 14, 15, 29}) {
    const auto a = numbers(rows * 8), b = numbers(8 * 32), base = numbers(rows * 32), factors = numbers(rows);
    std::vector<uint32_t> tiles(static_cast<size_t>(tile_form_words(Packing::singles, rows, 8))),
        panel(8 * 32);
    kernel.pack_tiles(Packing::singles, {a.data(), 8}, rows, 8, tiles.data());
    kernel.pack_panels(Packing::singles, {b.data(), 32}, 8, 32, panel.data(), 0);
    std::vector<float> plain(size_t(rows + 1) * 32, 7), combined = plain;
    kernel.panel_product(Packing::singles, tiles.data(), panel.data(), 8, rows, {plain.data(), 32});
    Combine out = {combined.data(), 32, 2, 1, base.data(), 32};
    out.keep_rows = factors.data();
    kernel.panel_product(Packing::singles, tiles.data(), panel.data(), 8, rows, out);
    for (size_t i = 0; i < base.size(); ++i) {
      ASSERT_FLOAT_EQ(combined[i], 2 * plain[i] + factors[i / 32] * base[i]) << rows << " rows, " << i;
    }
    for (size_t i = base.size(); i < plain.size(); ++i) ASSERT_EQ(plain[i] + combined[i], 14);
  }
}

TEST_P(Products, TrianglesGiveWhatTheWholeMatrixGives) {
  const auto& kernel = products_kernels();
  for (const auto packing : {Packing::singles, Packing::pairs}) {
    for (const int64_t side : {1, 13, 33, 64, 100}) {
      const int64_t words = words_for(packing, side);
      const auto b = numbers(side * 32);
      std::vector<uint32_t> panel(static_cast<size_t>(panel_form_words(packing, side, 32)));
      kernel.pack_panels(packing, {b.data(), 32}, side, 32, panel.data(), 0);
      for (const auto triangle : {Triangle::lower, Triangle::upper}) {
        auto a = numbers(side * side);
        for (int64_t i = 0; i < side; ++i) {
          for (int64_t j = 0; j < side; ++j) {
            if (triangle == Triangle::lower ? j > i : j < i) a[size_t(i * side + j)] = 0;
          }
        }
        std::vector<uint32_t> tiles(static_cast<size_t>(tile_form_words(packing, side, side)));
        kernel.pack_tiles(packing, {a.data(), side}, side, side, tiles.data());
        std::vector<float> whole(size_t(side * 32)), own = whole;
        kernel.panel_product(packing, tiles.data(), panel.data(), words, side, {whole.data(), 32});
        Combine out = {own.data(), 32};
        out.left = triangle;
        out.first_row = side / 2;
        kernel.panel_product(packing, tiles.data(), panel.data(), words, side, out);
        for (size_t i = size_t(side / 2) * 32; i < own.size(); ++i) {
          ASSERT_FLOAT_EQ(own[i], whole[i]) << side << ", " << i;
        }
      }
    }
  }
}

TEST_P(Products, SymmetricCompletion) {
  constexpr int64_t kSide = 96;
  const auto h = numbers(kSide * kSide), base = numbers(kSide * kSide);
  std::vector<float> sum(h.size(), NAN), mirrored = h;
  for (int64_t p = 0; p < kSide / 32; ++p) {
    products_kernels().add_transposed(h.data(), kSide, p, 2, base.data(), 3, sum.data());
    products_kernels().mirror(mirrored.data(), kSide, p);
  }
  for (int64_t i = 0; i < kSide; ++i) {
    for (int64_t j = 0; j < kSide; ++j) {
      const auto at = [&](const std::vector<float>& x, int64_t r, int64_t c) {
        return x[size_t(r * kSide + c)];
      };
      ASSERT_EQ(at(sum, i, j), 2 * (at(h, i, j) + at(h, j, i)) + 3 * at(base, i, j));
      ASSERT_EQ(at(mirrored, i, j), i / 32 > j / 32 ? at(h, j, i) : at(h, i, j));
    }
  }
}

}  // namespace
}  // namespace lact::kernels
