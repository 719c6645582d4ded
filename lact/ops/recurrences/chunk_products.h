// Matrix products of one worker on one chunk of tokens: operands are brought into the forms of
// kernels/products.h and multiplied there, in tile registers where the processor has them.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "lact/kernels/products.h"
#include "lact/kernels/recurrence.h"

namespace lact::ops::fused {

/// A worker's memory: matrices and operands of which every chunk uses the same ones again.
class Bench {
 public:
  explicit Bench(kernels::Packing packing) : packing_(packing) {}

  /// Rows have room for products, which come 32 columns at a time.
  kernels::FloatRows matrix(int64_t rows, int64_t columns) {
    const int64_t stride = kernels::round_up_to(columns, 32);
    return {static_cast<float*>(keep(rows * stride)), stride};
  }
  float* numbers(int64_t count) { return static_cast<float*>(keep(count)); }
  uint32_t* words(int64_t count) { return static_cast<uint32_t*>(keep(count)); }
  kernels::Packing packing() const { return packing_; }

 private:
  void* keep(int64_t count) {
    kept_.push_back(at::empty({count}, at::kFloat));
    return kept_.back().data_ptr();
  }
  kernels::Packing packing_;
  std::vector<at::Tensor> kept_;
};

/// The left operand A [rows, depth] of a product, of at most the sizes it was made for.
class LeftOperand {
 public:
  LeftOperand(Bench& bench, int64_t rows, int64_t depth) : LeftOperand(bench, rows, depth, bench.packing()) {}
  LeftOperand(Bench& bench, int64_t rows, int64_t depth, kernels::Packing packing)
      : packing_(packing), words_(bench.words(kernels::tile_form_words(packing, rows, depth))) {}

  LeftOperand& pack(kernels::NumberRows from, int64_t rows, int64_t depth) {
    rows_ = rows, depth_ = depth;
    kernels::products_kernels().pack_tiles(packing_, from, rows, depth, words_);
    return *this;
  }
  /// Given Aᵀ [depth, rows].
  LeftOperand& pack_transposed(kernels::NumberRows from, int64_t rows, int64_t depth) {
    rows_ = rows, depth_ = depth;
    kernels::products_kernels().pack_tiles_transposed(packing_, from, rows, depth, words_);
    return *this;
  }

 private:
  friend class RightOperand;
  kernels::Packing packing_;
  uint32_t* words_;
  int64_t rows_ = 0, depth_ = 0;
};

/// The right operand B [depth, columns].
class RightOperand {
 public:
  RightOperand(Bench& bench, int64_t depth, int64_t columns)
      : RightOperand(bench, depth, columns, bench.packing()) {}
  RightOperand(Bench& bench, int64_t depth, int64_t columns, kernels::Packing packing)
      : packing_(packing), words_(bench.words(kernels::panel_form_words(packing, depth, columns))) {}

  RightOperand& pack(kernels::NumberRows from, int64_t depth, int64_t columns) {
    depth_ = depth, columns_ = columns;
    kernels::products_kernels().pack_panels(packing_, from, depth, columns, words_, panel_words());
    return *this;
  }
  /// Given Bᵀ [columns, depth].
  RightOperand& pack_transposed(kernels::NumberRows from, int64_t depth, int64_t columns) {
    depth_ = depth, columns_ = columns;
    kernels::products_kernels().pack_panels_transposed(packing_, from, depth, columns, words_, panel_words());
    return *this;
  }

  /// to = scale · A B + keep · base; A may be a triangle with zeros beyond it.
  void multiply(const LeftOperand& left, kernels::FloatRows to, float scale, float keep,
                kernels::FloatRows base, kernels::Triangle triangle = kernels::Triangle::none) const {
    for (int64_t column = 0; column < columns_; column += 32) {
      multiply_panel(
          left, column,
          {to.numbers + column, to.stride, scale, keep, base.numbers + column, base.stride, 0, triangle});
    }
  }
  void multiply(const LeftOperand& left, kernels::FloatRows to, float scale = 1,
                kernels::Triangle triangle = kernels::Triangle::none) const {
    multiply(left, to, scale, 0, to, triangle);
  }
  void add_product(const LeftOperand& left, kernels::FloatRows to, float scale = 1,
                   kernels::Triangle triangle = kernels::Triangle::none) const {
    multiply(left, to, scale, 1, to, triangle);
  }
  /// to = scale · A B + kept * base, a factor for every row of the base
  void multiply_and_keep(const LeftOperand& left, kernels::FloatRows to, float scale, const float* kept,
                         kernels::FloatRows base) const {
    for (int64_t column = 0; column < columns_; column += 32) {
      kernels::Combine out = {to.numbers + column, to.stride, scale, 1, base.numbers + column, base.stride};
      out.keep_rows = kept;
      multiply_panel(left, column, out);
    }
  }
  /// to = A B on and below the diagonal; what stands above it is not to be read.
  void multiply_causal(const LeftOperand& left, kernels::FloatRows to) const {
    for (int64_t column = 0; column < columns_; column += 32) {
      kernels::Combine out = {to.numbers + column, to.stride};
      out.first_row = column;
      multiply_panel(left, column, out);
    }
  }

 private:
  void multiply_panel(const LeftOperand& left, int64_t column, const kernels::Combine& out) const {
    kernels::products_kernels().panel_product(packing_, left.words_, words_ + column / 32 * panel_words(),
                                              kernels::words_for(packing_, depth_), left.rows_, out);
  }
  int64_t panel_words() const { return 32 * kernels::words_for(packing_, depth_); }
  kernels::Packing packing_;
  uint32_t* words_;
  int64_t depth_ = 0, columns_ = 0;
};

}  // namespace lact::ops::fused
