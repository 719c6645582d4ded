// Tokens [B, H, T, D] as kernels see them: for every head, rows in memory. The tensor may be any view whose
// last dimension is contiguous, such as heads cut out of [B, T, H · D].
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/kernels/products.h"

namespace lact::ops {

class HeadTokens {
 public:
  HeadTokens() = default;
  explicit HeadTokens(const at::Tensor& tokens)
      : tensor_(tokens.stride(3) == 1 || tokens.size(3) == 1 ? tokens : tokens.contiguous()),
        heads_(tokens.size(1)),
        bf16_(tokens.scalar_type() == at::kBFloat16),
        data_(static_cast<char*>(tensor_.data_ptr())) {}

  int64_t heads() const { return tensor_.size(0) * heads_; }  ///< of the whole batch
  int64_t tokens() const { return tensor_.defined() ? tensor_.size(2) : 0; }
  int64_t width() const { return tensor_.size(3); }
  bool bf16() const { return bf16_; }
  int64_t stride() const { return tensor_.stride(2); }

  void* at(int64_t head, int64_t token, int64_t column = 0) const {
    const int64_t number = head / heads_ * tensor_.stride(0) + head % heads_ * tensor_.stride(1) +
                           token * tensor_.stride(2) + column;
    return data_ + number * (bf16_ ? 2 : 4);
  }
  kernels::NumberRows rows(int64_t head, int64_t token) const { return {at(head, token), stride(), bf16_}; }

 private:
  at::Tensor tensor_;
  int64_t heads_ = 0;
  bool bf16_ = false;
  char* data_ = nullptr;
};

}  // namespace lact::ops
