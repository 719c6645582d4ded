#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

#include "lact/base/error.h"
#include "lact/kernels/compress.h"
#include "lact/kernels/gemv.h"
#include "lact/ops/linear/compressed_linear.h"
#include "lact/ops/linear/few_tokens.h"
#include "lact/ops/linear/large_pages.h"

namespace lact::ops {

namespace {

/// Rows that are worked on at once, so that nothing in between grows with the weight.
int64_t stretch_of(int64_t in) { return std::max<int64_t>(1, (int64_t(1) << 20) / in); }

int64_t padded(int64_t in, WeightFormat format) {
  const int64_t unit = format == WeightFormat::int8   ? kernels::kByteGroup
                       : format == WeightFormat::bf16 ? kernels::kHalvesPad
                                                      : 1;
  return (in + unit - 1) / unit * unit;
}

/// Rows of float32 to rows of `numbers`, and of `scales` for int8; both as wide as each other.
WeightError round_rows(const at::Tensor& rows, const at::Tensor& numbers, const at::Tensor& scales) {
  const auto& kernels = kernels::compress_kernels();
  const int64_t width = rows.size(1);
  std::vector<kernels::RoundingError> errors(size_t(rows.size(0)));
  for_each_row_range(rows.size(0), 4 * width, [&](int64_t first, int64_t count) {
    for (int64_t row = first; row < first + count; ++row) {
      const float* from = rows.data_ptr<float>() + row * rows.stride(0);
      if (scales.defined()) {
        errors[size_t(row)] = kernels.bytes(from, width, numbers.data_ptr<uint8_t>() + row * width,
                                            scales.data_ptr<float>() + row * scales.size(1));
      } else {
        auto* to = reinterpret_cast<uint16_t*>(numbers.data_ptr<at::BFloat16>()) + row * width;
        errors[size_t(row)] = kernels.halves(from, width, to);
      }
    }
  });
  WeightError total;
  for (const auto& error : errors) total += {error.lost, error.whole};
  return total;
}

/// |weight|² of a dense matrix in float32 or bfloat16.
double squares_of(const at::Tensor& weight) {
  const auto& kernels = kernels::compress_kernels();
  const int64_t width = weight.size(1);
  std::vector<double> squares(size_t(weight.size(0)));
  for_each_row_range(
      weight.size(0), int64_t(weight.element_size()) * width, [&](int64_t first, int64_t count) {
        for (int64_t row = first; row < first + count; ++row) {
          const char* from =
              static_cast<const char*>(weight.data_ptr()) + row * width * int64_t(weight.element_size());
          squares[size_t(row)] =
              weight.scalar_type() == at::kFloat
                  ? kernels.squares(reinterpret_cast<const float*>(from), width)
                  : kernels.squares_of_halves(reinterpret_cast<const uint16_t*>(from), width);
        }
      });
  return std::accumulate(squares.begin(), squares.end(), 0.0);
}

}  // namespace

double WeightError::relative() const { return whole > 0 ? std::sqrt(lost / whole) : 0; }

WeightError& WeightError::operator+=(const WeightError& other) {
  lost += other.lost;
  whole += other.whole;
  return *this;
}

CompressedWeight::CompressedWeight(const at::Tensor& weight, WeightFormat format) : format_(format) {
  LACT_CHECK(weight.dim() == 2 && weight.numel() > 0 && weight.is_floating_point() && weight.is_cpu(),
             "[compress] the weight has shape {} and type {}, expected a floating point matrix on the CPU",
             weight.sizes().vec(), toString(weight.scalar_type()));
  LACT_CHECK(format != WeightFormat::automatic, "[compress] the format is auto, expected f32, bf16 or int8");
  at::NoGradGuard no_grad;
  in_ = weight.size(1);
  const int64_t width = padded(in_, format);
  const auto type = format == WeightFormat::int8   ? at::kByte
                    : format == WeightFormat::bf16 ? at::kBFloat16
                                                   : at::kFloat;
  if (weight.scalar_type() == type && width == in_ && weight.is_contiguous()) {
    numbers_ = weight.detach();
    error_.whole = squares_of(numbers_);
  } else {
    convert(weight, width, type);
  }
  LACT_CHECK(std::isfinite(error_.whole) && std::isfinite(error_.lost),
             "[compress] the weight contains NaN or infinity, or numbers whose square is");
}

void CompressedWeight::convert(const at::Tensor& weight, int64_t width, at::ScalarType type) {
  const int64_t out = weight.size(0);
  numbers_ = empty_in_large_pages({out, width}, type);
  if (format_ == WeightFormat::int8) scales_ = at::empty({out, width / kernels::kByteGroup}, at::kFloat);
  const int64_t stretch = stretch_of(width);
  for (int64_t first = 0; first < out; first += stretch) {
    const int64_t count = std::min(stretch, out - first);
    at::Tensor rows = weight.narrow(0, first, count).to(at::kFloat);
    if (width != in_) rows = at::constant_pad_nd(rows, {0, width - in_});
    rows = rows.contiguous();
    const at::Tensor numbers = numbers_.narrow(0, first, count);
    if (format_ == WeightFormat::f32) {
      numbers.copy_(rows);
      error_.whole += squares_of(rows);
    } else {
      error_ += round_rows(rows, numbers, scales_.defined() ? scales_.narrow(0, first, count) : scales_);
    }
  }
}

int64_t CompressedWeight::bytes() const {
  return int64_t(numbers_.nbytes()) + (scales_.defined() ? int64_t(scales_.nbytes()) : 0);
}

at::Tensor CompressedWeight::widen(const at::Tensor& numbers, const at::Tensor& scales) const {
  const at::Tensor wide = numbers.to(at::kFloat);
  if (format_ != WeightFormat::int8) return wide.narrow(1, 0, in_);
  const at::Tensor groups = wide.unflatten(1, {scales.size(1), kernels::kByteGroup});
  return groups.sub_(128).mul_(scales.unsqueeze(2)).flatten(1).narrow(1, 0, in_);
}

at::Tensor CompressedWeight::widened(int64_t first, int64_t count) const {
  return widen(numbers_.narrow(0, first, count),
               scales_.defined() ? scales_.narrow(0, first, count) : at::Tensor());
}

at::Tensor CompressedWeight::look_up(const at::Tensor& ids) const {
  const at::Tensor rows = ids.flatten();
  const at::Tensor found =
      widen(numbers_.index_select(0, rows), scales_.defined() ? scales_.index_select(0, rows) : at::Tensor());
  auto sizes = ids.sizes().vec();
  sizes.push_back(in_);
  return found.reshape(sizes);
}

namespace reference {

// Stretch by stretch: the weight is never float32 as a whole.
at::Tensor compressed_linear(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias) {
  auto sizes = x.sizes().vec();
  sizes.back() = weight.out();
  at::Tensor y = at::empty(sizes, x.options());
  const int64_t stretch = stretch_of(weight.in());
  for (int64_t first = 0; first < weight.out(); first += stretch) {
    const int64_t count = std::min(stretch, weight.out() - first);
    const at::Tensor rows = weight.widened(first, count).to(x.scalar_type());
    const at::Tensor shift = bias.defined() ? bias.narrow(0, first, count).to(x.scalar_type()) : at::Tensor();
    y.narrow(-1, first, count).copy_(at::linear(x, rows, shift));
  }
  return y;
}

}  // namespace reference

}  // namespace lact::ops
