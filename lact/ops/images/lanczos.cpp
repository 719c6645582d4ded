#include "lact/ops/images/lanczos.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "lact/base/error.h"

namespace lact::ops {

namespace {

constexpr double kLanczosRadius = 3;
constexpr int kFractionBits = 22;  // 32 - 8 bits of a pixel - 2 for the overshoot of the filter
constexpr int64_t kRowsPerTask = 16;

double lanczos(double x) {
  if (x == 0) return 1;
  if (std::abs(x) >= kLanczosRadius) return 0;
  const double angle = std::numbers::pi * x;
  return std::sin(angle) / angle * std::sin(angle / kLanczosRadius) / (angle / kLanczosRadius);
}

/// The source pixels that one target pixel is a sum of, weights in fixed point.
struct LanczosTaps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<LanczosTaps> lanczos_taps(int64_t source, const ResizedSpan& target) {
  const double scale = static_cast<double>(source) / static_cast<double>(target.full);
  const double stretch = std::max(scale, 1.0);  // made smaller: the filter covers all that falls together
  const double support = kLanczosRadius * stretch;
  std::vector<LanczosTaps> all(target.count);
  for (int64_t i = 0; i < target.count; ++i) {
    const double center = (static_cast<double>(target.first + i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min(source, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      weights.push_back(lanczos((static_cast<double>(j) - center + 0.5) / stretch));
      sum += weights.back();
    }
    all[i].first = first;
    for (const double weight : weights) {
      const double fixed = weight / sum * (int64_t{1} << kFractionBits);
      all[i].weights.push_back(static_cast<int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
    }
  }
  return all;
}

uint8_t rounded_pixel(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255)); }

/// One row of [W, channels].
template <int channels>
void resize_row(const uint8_t* source, const std::vector<LanczosTaps>& taps, uint8_t* target) {
  for (const LanczosTaps& tap : taps) {
    const uint8_t* pixel = source + tap.first * channels;
    std::array<int32_t, channels> sums;
    sums.fill(1 << (kFractionBits - 1));
    for (const int32_t weight : tap.weights) {
      for (int c = 0; c < channels; ++c) sums[c] += weight * pixel[c];
      pixel += channels;
    }
    for (const int32_t sum : sums) *target++ = rounded_pixel(sum);
  }
}

/// [H, W, C] -> [H, target.count, C]
at::Tensor resize_columns(const at::Tensor& image, const ResizedSpan& target_columns) {
  const int64_t rows = image.size(0), channels = image.size(2), width = target_columns.count;
  const auto taps = lanczos_taps(image.size(1), target_columns);
  at::Tensor result = at::empty({rows, width, channels}, at::kByte);
  const uint8_t* source = image.data_ptr<uint8_t>();
  uint8_t* target = result.data_ptr<uint8_t>();
  const auto resize = channels == 3 ? &resize_row<3> : &resize_row<4>;
  at::parallel_for(0, rows, kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      resize(source + row * image.size(1) * channels, taps, target + row * width * channels);
  });
  return result;
}

/// [H, W, C] -> [target.count, W, C]
at::Tensor resize_rows(const at::Tensor& image, const ResizedSpan& target_rows) {
  const int64_t row_bytes = image.size(1) * image.size(2), height = target_rows.count;
  const auto taps = lanczos_taps(image.size(0), target_rows);
  at::Tensor result = at::empty({height, image.size(1), image.size(2)}, at::kByte);
  const uint8_t* source = image.data_ptr<uint8_t>();
  uint8_t* target = result.data_ptr<uint8_t>();
  at::parallel_for(0, height, kRowsPerTask, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> sums(row_bytes);
    for (int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 1 << (kFractionBits - 1));
      const uint8_t* line = source + taps[row].first * row_bytes;
      for (const int32_t weight : taps[row].weights) {
        for (int64_t x = 0; x < row_bytes; ++x) sums[x] += weight * line[x];
        line += row_bytes;
      }
      for (int64_t x = 0; x < row_bytes; ++x) target[row * row_bytes + x] = rounded_pixel(sums[x]);
    }
  });
  return result;
}

/// product / 255, rounded to nearest.
uint32_t divided_by_255(uint32_t product) {
  product += 128;
  return ((product >> 8) + product) >> 8;
}

template <class Function>
at::Tensor colours_mapped_by_alpha(const at::Tensor& image, const Function& function) {
  at::Tensor result = image.clone();
  uint8_t* pixel = result.data_ptr<uint8_t>();
  for (const uint8_t* end = pixel + result.numel(); pixel != end; pixel += 4)
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(function(uint32_t{pixel[c]}, pixel[3]));
  return result;
}

at::Tensor premultiplied(const at::Tensor& image) {
  return colours_mapped_by_alpha(
      image, [](uint32_t colour, uint32_t alpha) { return divided_by_255(colour * alpha); });
}

at::Tensor unpremultiplied(const at::Tensor& image) {
  return colours_mapped_by_alpha(image, [](uint32_t colour, uint32_t alpha) {
    return alpha == 0 || alpha == 255 ? colour : std::min(255 * colour / alpha, 255u);
  });
}

}  // namespace

at::Tensor resize_lanczos(const at::Tensor& image, int64_t height, int64_t width) {
  return resize_lanczos(image, {height, 0, height}, {width, 0, width});
}

at::Tensor resize_lanczos(const at::Tensor& image, const ResizedSpan& rows, const ResizedSpan& columns) {
  LACT_CHECK(image.defined() && image.scalar_type() == at::kByte && image.dim() == 3 &&
                 (image.size(2) == 3 || image.size(2) == 4) && image.numel() > 0,
             "[resize_lanczos] the image is {}, expected uint8 (Byte) [H, W, 3] or [H, W, 4]",
             image.defined() ? fmt::format("{} {}", toString(image.scalar_type()), image.sizes().vec())
                             : "undefined");
  LACT_CHECK(rows.full >= 1 && columns.full >= 1,
             "[resize_lanczos] the new size is {} x {}, expected at least 1 x 1", columns.full, rows.full);
  for (const ResizedSpan& span : {rows, columns})
    LACT_CHECK(span.first >= 0 && span.count >= 1 && span.first <= span.full - span.count,
               "[resize_lanczos] pixels {} to {} are asked for, but there are {}", span.first,
               span.first + span.count, span.full);
  const bool other_rows = image.size(0) != rows.full, other_columns = image.size(1) != columns.full;
  // What keeps its size along a side is cut there before all else; so no side grows beyond what is asked for.
  at::Tensor result = image;
  if (!other_rows) result = result.narrow(0, rows.first, rows.count);
  if (!other_columns) result = result.narrow(1, columns.first, columns.count);
  result = result.contiguous();
  if (!other_rows && !other_columns) return result.is_alias_of(image) ? result.clone() : result;
  const bool alpha = image.size(2) == 4;
  if (alpha) result = premultiplied(result);
  if (other_columns) result = resize_columns(result, columns);
  if (other_rows) result = resize_rows(result, rows);
  return alpha ? unpremultiplied(result) : result;
}

}  // namespace lact::ops
