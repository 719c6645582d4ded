#include <ATen/ATen.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <new>

#include "lact/base/error.h"
#include "lact/kernels/gemv.h"
#include "lact/ops/linear/compressed_linear.h"

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

/// scale · (byte - 128), with the largest number of a group at 127.
void to_bytes(const at::Tensor& rows, at::Tensor bytes, at::Tensor scales) {
  const at::Tensor groups = rows.unflatten(1, {scales.size(1), kernels::kByteGroup});
  scales.copy_(groups.abs().amax(2) / 127);
  const at::Tensor inverse = at::where(scales > 0, 1 / scales, at::zeros_like(scales));
  bytes.copy_((groups * inverse.unsqueeze(2)).round_().add_(128).flatten(1));
}

constexpr size_t kLargePage = size_t(2) << 20;

/// An uninitialised matrix in large pages as far as it fills them: it is read from end to end for every
/// token, and of small pages many more would have to be looked up.
at::Tensor empty_in_large_pages(at::IntArrayRef sizes, at::ScalarType type) {
  const size_t bytes = size_t(c10::multiply_integers(sizes)) * c10::elementSize(type);
  if (bytes < kLargePage) return at::empty(sizes, type);
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargePage, bytes) != 0) throw std::bad_alloc();
  // Where the system has no large pages, small ones do.
  madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
  return at::from_blob(memory, sizes, &std::free, type);
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
  at::NoGradGuard no_grad;
  in_ = weight.size(1);
  const int64_t out = weight.size(0), width = padded(in_, format);
  const auto type = format == WeightFormat::int8   ? at::kByte
                    : format == WeightFormat::bf16 ? at::kBFloat16
                                                   : at::kFloat;
  numbers_ = empty_in_large_pages({out, width}, type);
  if (format == WeightFormat::int8) scales_ = at::empty({out, width / kernels::kByteGroup}, at::kFloat);
  const int64_t stretch = stretch_of(width);
  for (int64_t first = 0; first < out; first += stretch) {
    const int64_t count = std::min(stretch, out - first);
    const at::Tensor rows = weight.narrow(0, first, count).to(at::kFloat);
    const at::Tensor wide = width == in_ ? rows : at::constant_pad_nd(rows, {0, width - in_});
    if (format == WeightFormat::int8) {
      to_bytes(wide, numbers_.narrow(0, first, count), scales_.narrow(0, first, count));
    } else {
      numbers_.narrow(0, first, count).copy_(wide);
    }
    error_.whole += rows.square().sum(at::kDouble).item<double>();
    if (format != WeightFormat::f32) {
      error_.lost += (widened(first, count) - rows).square_().sum(at::kDouble).item<double>();
    }
  }
  LACT_CHECK(std::isfinite(error_.whole) && std::isfinite(error_.lost),
             "[compress] the weight contains NaN or infinity, or numbers whose square is");
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
