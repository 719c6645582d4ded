#include "lact/ops/linear/matrix_product.h"

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "lact/base/error.h"
#include "lact/kernels/gemm.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact::ops {

namespace {

using kernels::GemmAhead;
using kernels::GemmLeft;
using kernels::GemmResult;
using kernels::GemmSource;
using kernels::kGemmPanel;

int64_t divide_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit; }
/// The size of parts of at most `most` that are as equal as multiples of `unit` allow.
int64_t even_part(int64_t whole, int64_t most, int64_t unit) {
  const int64_t parts = divide_up(whole, std::max(most, unit));
  return divide_up(divide_up(whole, parts), unit) * unit;
}

// Measured on a core with 48 KB of first and 1.25 MB of second level cache: the packed panels of B and a
// block of A stay in the second level.
constexpr int64_t kDepthWords = 768;
/// Sums over the rows of A's memory read as many pages at once as they are deep; with fewer they also have
/// more columns to write off the packing of A.
constexpr int64_t kSliverDepthWords = 384;
constexpr int64_t kRightWords = 6 * kDepthWords * kGemmPanel;
constexpr int64_t kLeftWords = 32 << 10;
/// Rows over which packing a panel of B is written off.
constexpr int64_t kMostRows = 2048;
constexpr int64_t kFewestRows = 128;

/// A in the form that the inner loop reads may be the memory itself. Rows that are a multiple of 4 KB apart
/// fall into the same few lines of the cache.
bool left_is_in_place(const GemmSource& a, int64_t depth, bool pairs) {
  if (a.column_stride != 1 || a.bf16 != pairs) return false;
  const int64_t bytes = a.row_stride * (pairs ? 2 : 4);
  if (bytes % 2048 == 0) return false;
  return !pairs || (depth % 2 == 0 && bytes % 4 == 0 && reinterpret_cast<uintptr_t>(a.data) % 4 == 0);
}

const void* address(const GemmSource& from, int64_t row, int64_t column) {
  const int64_t place = row * from.row_stride + column * from.column_stride;
  return static_cast<const char*>(from.data) + place * (from.bf16 ? 2 : 4);
}
GemmSource part(const GemmSource& from, int64_t row, int64_t column) {
  return {address(from, row, column), from.bf16, from.row_stride, from.column_stride};
}

/// Memory of one thread that outlives the call: fresh pages would cost as much as the packing.
template <class Word>
Word* scratch(std::unique_ptr<Word[]>& kept, size_t& size, size_t wanted) {
  constexpr size_t kLine = 64 / sizeof(Word);
  if (size < wanted) {
    kept.reset(new Word[wanted + kLine]);
    size = wanted;
  }
  return reinterpret_cast<Word*>((reinterpret_cast<uintptr_t>(kept.get()) + 63) / 64 * 64);
}

struct Product {
  GemmSource a, b;
  GemmResult out;
  int64_t rows, columns, depth;
  bool pairs;

  int64_t depth_part, column_part, row_part, row_block;
  bool in_place;
  int64_t left_stride;

  int64_t words(int64_t numbers) const { return pairs ? divide_up(numbers, 2) : numbers; }

  void choose_blocks() {
    const auto& kernels = kernels::gemm_kernels();
    const int64_t per_word = pairs ? 2 : 1, tile_rows = kernels.tile_rows;
    const int64_t unit = pairs ? kernels.pair_rows : tile_rows;
    const bool slivers = a.column_stride != 1;
    depth_part = even_part(depth, (slivers ? kSliverDepthWords : kDepthWords) * per_word, 16 * per_word);
    const int64_t deep = words(depth_part);
    column_part = even_part(columns, kRightWords / deep, kGemmPanel);
    const int64_t column_parts = divide_up(columns, column_part);
    const int64_t workers = num_workers(), wanted = divide_up(workers > 1 ? 4 * workers : 1, column_parts);
    const int64_t most = std::min(kMostRows, std::max(kFewestRows, divide_up(rows, wanted)));
    row_part = even_part(rows, most, unit);
    in_place = left_is_in_place(a, depth, pairs);
    if (in_place)
      left_stride = pairs ? a.row_stride / 2 : a.row_stride;
    else  // the line more keeps rows, too, out of each other's way
      left_stride = (slivers ? deep * tile_rows : deep) + kernels::kGemmOverrun;
    row_block = std::max(unit, kLeftWords / deep / unit * unit);
  }

  GemmAhead ahead_of(int64_t row, int64_t count, int64_t first_depth, int64_t deep) const;
  void run(int64_t first_row, int64_t first_column) const;
};

/// Asks for A [row, row + count) x [first_depth, first_depth + deep) while another block is multiplied: its
/// memory is far, and reading it would otherwise take longer than packing it.
GemmAhead Product::ahead_of(int64_t row, int64_t count, int64_t first_depth, int64_t deep) const {
  const auto* start = static_cast<const char*>(address(a, row, first_depth));
  const int64_t size = a.bf16 ? 2 : 4, num_words = words(deep);
  if (a.column_stride == 1) {
    // Two rows per tile.
    const int64_t stride = a.row_stride * size;
    return {start, stride, 4 * deep * size / num_words, 0, 1, 2 * stride, divide_up(count, 2)};
  }
  // Two lines of every fourth word's numbers per tile.
  const int64_t stride = a.column_stride * size, pairs_of_lines = divide_up(count * size + 63, 128);
  const int64_t num_numbers = std::max<int64_t>(1, num_words / 4);
  return {start,
          64,
          stride,
          128,
          pairs_of_lines,
          num_numbers * stride,
          pairs_of_lines * divide_up(deep, num_numbers)};
}

void Product::run(int64_t first_row, int64_t first_column) const {
  thread_local std::unique_ptr<uint32_t[]> left_memory, right_memory;
  thread_local std::unique_ptr<float[]> sum_memory;
  thread_local size_t left_size = 0, right_size = 0, sum_size = 0;
  const auto& kernels = kernels::gemm_kernels();
  const int64_t num_rows = std::min(row_part, rows - first_row);
  const int64_t num_columns = std::min(column_part, columns - first_column);
  const int64_t panel_stride = words(depth_part) * kGemmPanel;
  uint32_t* right = scratch(right_memory, right_size, divide_up(num_columns, kGemmPanel) * panel_stride);
  uint32_t* left = nullptr;
  if (!in_place) {
    const int64_t units = a.column_stride == 1 ? row_block : divide_up(row_block, kernels.tile_rows);
    left = scratch(left_memory, left_size, units * left_stride);
  }
  // Bfloat16 results of several depths are added up in float32.
  float* sums = nullptr;
  if (out.bf16 && depth_part < depth) sums = scratch(sum_memory, sum_size, num_rows * column_part);

  for (int64_t k = 0; k < depth; k += depth_part) {
    const int64_t deep = std::min(depth_part, depth - k);
    kernels.pack_right(part(b, k, first_column), deep, num_columns, pairs, right, panel_stride);
    for (int64_t row = 0; row < num_rows; row += row_block) {
      const int64_t count = std::min(row_block, num_rows - row);
      const GemmSource from = part(a, first_row + row, k);
      if (!in_place) kernels.pack_left(from, count, deep, pairs, left, left_stride);
      const GemmLeft packed = {in_place ? static_cast<const uint32_t*>(from.data) : left, left_stride,
                               a.column_stride != 1};

      const bool last = k + deep == depth;
      const int64_t place = (first_row + row) * out.stride + first_column;
      GemmResult result = out;
      result.to = static_cast<char*>(out.to) + place * (out.bf16 ? 2 : 4);
      result.bias = last && out.bias != nullptr ? out.bias + first_column : nullptr;
      if (sums != nullptr) {
        float* own = sums + row * column_part;
        if (!last) result.to = own, result.bf16 = false, result.stride = column_part;
        result.add = k > 0 ? own : nullptr;
        result.add_stride = column_part;
      } else {
        result.add = k > 0 || out.add != nullptr ? static_cast<float*>(result.to) : nullptr;
        result.add_stride = out.stride;
      }
      GemmAhead ahead = {};
      const int64_t next = row + row_block;
      if (next < num_rows) ahead = ahead_of(first_row + next, std::min(row_block, num_rows - next), k, deep);
      kernels.multiply(packed, {right, panel_stride}, count, num_columns, words(deep), pairs, result, ahead);
    }
  }
}

GemmSource source(const at::Tensor& matrix) {
  // A dimension of one number has no stride of its own.
  const int64_t row = matrix.size(0) == 1 ? matrix.size(1) : matrix.stride(0);
  const int64_t column = matrix.size(1) == 1 && matrix.stride(0) != 1 ? 1 : matrix.stride(1);
  return {matrix.data_ptr(), matrix.scalar_type() == at::kBFloat16, row, column};
}

at::Tensor with_unit_stride(const at::Tensor& matrix) {
  const GemmSource from = source(matrix);
  return from.row_stride == 1 || from.column_stride == 1 ? matrix : matrix.contiguous();
}

}  // namespace

bool can_multiply(const at::Tensor& matrix) {
  return matrix.is_cpu() && matrix.dim() == 2 &&
         (matrix.scalar_type() == at::kFloat || matrix.scalar_type() == at::kBFloat16);
}

void multiply(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
              const MultiplyOptions& options) {
  LACT_CHECK(can_multiply(out) && can_multiply(a) && can_multiply(b),
             "[multiply] expected matrices of float32 or bfloat16 on the processor");
  LACT_CHECK(a.size(1) == b.size(0) && out.size(0) == a.size(0) && out.size(1) == b.size(1),
             "[multiply] {} times {} into {}", a.sizes().vec(), b.sizes().vec(), out.sizes().vec());
  LACT_CHECK(out.size(1) <= 1 || out.stride(1) == 1, "[multiply] the rows of the result are not contiguous");
  LACT_CHECK(!options.accumulate || out.scalar_type() == at::kFloat,
             "[multiply] accumulates into float32 only");
  if (out.numel() == 0) return;
  if (a.size(1) == 0) {
    if (!options.accumulate) out.zero_();
    if (options.bias.defined()) out.add_(options.bias);
    return;
  }
  const at::Tensor left = with_unit_stride(a), right = with_unit_stride(b);
  const at::Tensor bias = options.bias.defined() ? options.bias.to(at::kFloat).contiguous() : at::Tensor();
  Product product;
  product.a = source(left);
  product.b = source(right);
  product.rows = a.size(0), product.columns = b.size(1), product.depth = a.size(1);
  product.pairs = kernels::multiplies_pairs() && (product.a.bf16 || product.b.bf16);
  product.out = {out.data_ptr(),
                 out.scalar_type() == at::kBFloat16,
                 out.size(0) == 1 ? out.size(1) : out.stride(0),
                 options.accumulate ? out.data_ptr<float>() : nullptr,
                 0,
                 bias.defined() ? bias.data_ptr<float>() : nullptr};
  product.choose_blocks();
  const int64_t row_parts = divide_up(product.rows, product.row_part);
  const int64_t column_parts = divide_up(product.columns, product.column_part);
  for_each_item(row_parts * column_parts, [&](int64_t item, int64_t) {
    product.run(item / column_parts * product.row_part, item % column_parts * product.column_part);
  });
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b, at::ScalarType type, const at::Tensor& bias) {
  at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options().dtype(type));
  multiply(out, a, b, {.bias = bias});
  return out;
}

}  // namespace lact::ops
