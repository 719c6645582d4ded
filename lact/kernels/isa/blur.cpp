#include "lact/kernels/blur.h"

#include "lact/kernels/row_loop.h"

namespace lact::kernels {
namespace {

void blur(const float* window, const float* from, float* to, float* line, int64_t height, int64_t width) {
  for (int64_t i = 0; i < blur_line_floats(width); ++i) line[i] = 0;
  float* const middle = line + kBlurReach;
  for (int64_t row = 0; row < height; ++row) {
    over_row(width, [&](int64_t i, int lanes) {
      Vec sum = read(from + row * width + i, lanes) * window[0];
      for (int64_t j = 1; j <= kBlurReach; ++j) {
        if (row >= j) sum += read(from + (row - j) * width + i, lanes) * window[j];
        if (row + j < height) sum += read(from + (row + j) * width + i, lanes) * window[j];
      }
      write(middle + i, sum, lanes);
    });
    over_row(width, [&](int64_t i, int lanes) {
      Vec sum = load(middle + i) * window[0];
      for (int64_t j = 1; j <= kBlurReach; ++j)
        sum += (load(middle + i - j) + load(middle + i + j)) * window[j];
      write(to + row * width + i, sum, lanes);
    });
  }
}

}  // namespace

namespace LACT_ISA {
extern const BlurKernels blur;
const BlurKernels blur = {kernels::blur};
}  // namespace LACT_ISA
}  // namespace lact::kernels
