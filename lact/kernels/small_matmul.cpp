#include "lact/kernels/small_matmul.h"

namespace lact::kernels {

namespace {

/// 16 numbers: one AVX-512 register, two of AVX2; at any address.
typedef float Lanes __attribute__((vector_size(64)));
typedef float LanesAnywhere __attribute__((vector_size(64), aligned(4)));

#define LACT_INLINE inline __attribute__((always_inline))

LACT_INLINE Lanes load(const float* from) { return *reinterpret_cast<const LanesAnywhere*>(from); }
LACT_INLINE void store(float* to, Lanes value) { *reinterpret_cast<LanesAnywhere*>(to) = value; }

/// Rows rows and 16·Width columns of C, kept in registers over the whole of k.
template <int Rows, int Width>
LACT_INLINE void tile(const float* a, const float* b, float* c, int64_t n, int64_t k, float scale,
                      float keep) {
  Lanes sums[Rows][Width] = {};
  for (int64_t p = 0; p < k; ++p) {
    Lanes row[Width];
    for (int w = 0; w < Width; ++w) row[w] = load(b + p * n + 16 * w);
    for (int r = 0; r < Rows; ++r) {
      const float factor = a[r * k + p];
      for (int w = 0; w < Width; ++w) sums[r][w] += factor * row[w];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int w = 0; w < Width; ++w) {
      float* to = c + r * n + 16 * w;
      store(to, keep == 0 ? scale * sums[r][w] : scale * sums[r][w] + keep * load(to));
    }
  }
}

/// One row and the columns that no tile covers.
LACT_INLINE void rest_of_row(const float* a, const float* b, float* c, int64_t from, int64_t n, int64_t k,
                             float scale, float keep) {
  for (int64_t j = from; j < n; ++j) {
    float sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += a[p] * b[p * n + j];
    c[j] = keep == 0 ? scale * sum : scale * sum + keep * c[j];
  }
}

template <int Rows>
LACT_INLINE void strip(const float* a, const float* b, float* c, int64_t n, int64_t k, float scale,
                       float keep) {
  int64_t j = 0;
  for (; j + 32 <= n; j += 32) tile<Rows, 2>(a, b + j, c + j, n, k, scale, keep);
  for (; j + 16 <= n; j += 16) tile<Rows, 1>(a, b + j, c + j, n, k, scale, keep);
  for (int r = 0; r < Rows && j < n; ++r) rest_of_row(a + r * k, b, c + r * n, j, n, k, scale, keep);
}

}  // namespace

// One version per instruction set, chosen when the program starts.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) void small_matmul(
    const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, float scale, float keep) {
  int64_t i = 0;
  for (; i + 8 <= m; i += 8) strip<8>(a + i * k, b, c + i * n, n, k, scale, keep);
  for (; i + 4 <= m; i += 4) strip<4>(a + i * k, b, c + i * n, n, k, scale, keep);
  for (; i < m; ++i) strip<1>(a + i * k, b, c + i * n, n, k, scale, keep);
}

void small_transpose(const float* a, float* b, int64_t m, int64_t n) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < m; i0 += kBlock) {
    for (int64_t j0 = 0; j0 < n; j0 += kBlock) {
      const int64_t i1 = i0 + kBlock < m ? i0 + kBlock : m, j1 = j0 + kBlock < n ? j0 + kBlock : n;
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) b[j * m + i] = a[i * n + j];
      }
    }
  }
}

}  // namespace lact::kernels
