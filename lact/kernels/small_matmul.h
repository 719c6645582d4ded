// Products of small matrices that fit into the cache, one thread each. Row-major, no gaps.
#pragma once

#include <cstdint>

namespace lact::kernels {

/// C [m, n] = scale · A [m, k] B [k, n] + keep · C. C must not overlap A or B; with keep = 0 it is not read.
void small_matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, float scale,
                  float keep);

/// B [n, m] = Aᵀ for A [m, n].
void small_transpose(const float* a, float* b, int64_t m, int64_t n);

}  // namespace lact::kernels
