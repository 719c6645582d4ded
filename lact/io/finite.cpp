#include "lact/io/finite.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>

#include "lact/base/error.h"
#include "lact/io/safetensors_header.h"

namespace lact::io {

namespace {

constexpr int64_t kElementsPerTask = int64_t(1) << 18, kElementsPerBlock = 4096;

/// A number is infinite or NaN where all bits of its exponent are set. Bits are compared, since floating
/// comparisons of 16-bit types would have to convert first; the inner loop has no branch, so it is
/// vectorised.
template <class Bits>
bool exponents_are_free(const Bits* bits, int64_t count, Bits exponent) {
  for (int64_t begin = 0; begin < count; begin += kElementsPerBlock) {
    const int64_t end = std::min(count, begin + kElementsPerBlock);
    Bits full = 0;
    for (int64_t i = begin; i < end; ++i) full |= Bits((bits[i] & exponent) == exponent);
    if (full != 0) return false;
  }
  return true;
}

template <class Bits>
bool all_free(const at::Tensor& tensor, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(tensor.data_ptr());
  std::atomic<bool> finite = true;
  at::parallel_for(0, tensor.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
    if (!exponents_are_free<Bits>(bits + begin, end - begin, exponent)) finite = false;
  });
  return finite;
}

}  // namespace

bool all_finite(const at::Tensor& tensor) {
  if (tensor.numel() == 0 || !tensor.is_floating_point()) return true;
  const at::Tensor dense = tensor.detach().to(at::kCPU).contiguous();
  switch (dense.scalar_type()) {
    case at::kDouble:
      return all_free<uint64_t>(dense, 0x7ff0000000000000);
    case at::kFloat:
      return all_free<uint32_t>(dense, 0x7f800000);
    case at::kBFloat16:
      return all_free<uint16_t>(dense, 0x7f80);
    case at::kHalf:
      return all_free<uint16_t>(dense, 0x7c00);
    default:
      return at::isfinite(dense).all().item<bool>();
  }
}

void check_finite(const std::map<std::string, at::Tensor>& tensors, const std::string& path) {
  for (const auto& [name, tensor] : tensors)
    LACT_CHECK(all_finite(tensor), "{}: tensor {} holds numbers that are infinite or NaN, expected weights",
               path, shown(name));
}

}  // namespace lact::io
