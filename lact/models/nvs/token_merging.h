// Four neighbouring tokens of an image become one, wider one; global tokens only become wider (Long-LRM).
#pragma once

#include <torch/nn/module.h>

#include "lact/io/image_size.h"
#include "lact/nn/linear.h"

namespace lact::models {

class TokenMerging : public torch::nn::Module {
 public:
  /// `to` is a multiple of `from`: every channel becomes to / from channels.
  TokenMerging(int64_t from, int64_t to, int64_t global_tokens);

  /// [B, G + V · rows · columns, from] -> [B, G + V · rows/2 · columns/2, to]; `grid` are rows and columns.
  at::Tensor forward(const at::Tensor& x, const io::ImageSize& grid) const;

 private:
  int64_t from_, global_tokens_;
  at::Tensor weight_, bias_;  ///< of a convolution with a group for each channel: [to, 1, 2, 2], [to]
  std::shared_ptr<nn::Linear> widen_;  ///< of global tokens; null if there are none
};

}  // namespace lact::models
