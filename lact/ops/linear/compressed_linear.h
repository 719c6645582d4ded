// Products with weights that are only read: for inference, where the time of a token is the time of reading
// every weight once. A weight is kept in fewer bytes than float32 has and never widened as a whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lact::ops {

/// bf16: rounded to bfloat16. int8: a byte per number and a float32 scale for every 128 numbers of a row;
/// products with a few tokens round these to bytes too. automatic: what a loader finds best.
enum class WeightFormat { automatic, f32, bf16, int8 };
constexpr std::array<std::pair<WeightFormat, std::string_view>, 4> enum_names(WeightFormat) {
  return {{{WeightFormat::automatic, "auto"},
           {WeightFormat::f32, "f32"},
           {WeightFormat::bf16, "bf16"},
           {WeightFormat::int8, "int8"}}};
}

/// What was lost: |rounded - weight|² and |weight|², to be added up over several weights.
struct WeightError {
  double lost = 0, whole = 0;

  double relative() const;  ///< |rounded - weight| / |weight|
  WeightError& operator+=(const WeightError& other);
};

/// A weight [out, in] on the CPU. One that has the format's type, and needs no padding, is kept as it is: its
/// memory is shared.
class CompressedWeight {
 public:
  CompressedWeight(const at::Tensor& weight, WeightFormat format);

  WeightFormat format() const { return format_; }
  int64_t out() const { return numbers_.size(0); }
  int64_t in() const { return in_; }
  int64_t bytes() const;
  const WeightError& error() const { return error_; }

  /// Rows [first, first + count) as float32.
  at::Tensor widened(int64_t first, int64_t count) const;

  /// The rows that `ids` names, as float32: [..., in].
  at::Tensor look_up(const at::Tensor& ids) const;

  const at::Tensor& numbers() const { return numbers_; }  ///< [out, in with padding]
  const at::Tensor& scales() const { return scales_; }    ///< [out, groups], of int8

 private:
  void convert(const at::Tensor& weight, int64_t width, at::ScalarType type);
  at::Tensor widen(const at::Tensor& numbers, const at::Tensor& scales) const;

  WeightFormat format_;
  int64_t in_;
  at::Tensor numbers_, scales_;
  WeightError error_;
};

/// x [..., in] -> x Wᵀ + bias [..., out] in the dtype of x, float32 or bfloat16. Without gradients. `bias`
/// may be undefined.
at::Tensor compressed_linear(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias);

/// Whether `few_token_linear` can do it: nothing wants a gradient, and there are few tokens.
bool is_few_token_linear(const at::Tensor& x, const at::Tensor& weight);

/// The same product with a plain float32 weight [out, in].
at::Tensor few_token_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

namespace reference {
at::Tensor compressed_linear(const at::Tensor& x, const CompressedWeight& weight, const at::Tensor& bias);
}

}  // namespace lact::ops
