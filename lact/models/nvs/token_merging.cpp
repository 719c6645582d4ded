#include "lact/models/nvs/token_merging.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/nn/init.h"

namespace lact::models {

TokenMerging::TokenMerging(int64_t from, int64_t to, int64_t global_tokens)
    : from_(from), global_tokens_(global_tokens) {
  LACT_CHECK(from > 0 && to % from == 0, "[token merging] {} channels cannot become {}, expected a multiple",
             from, to);
  weight_ = register_parameter("weight", at::empty({to, 1, 2, 2}));
  bias_ = register_parameter("bias", at::empty({to}));
  nn::init_uniform(weight_, 0.5);  // 1 / sqrt(fan in), LibTorch's for a convolution
  nn::init_uniform(bias_, 0.5);
  if (global_tokens > 0) widen_ = register_module("widen", std::make_shared<nn::Linear>(from, to, true));
}

at::Tensor TokenMerging::forward(const at::Tensor& x, const io::ImageSize& grid) const {
  const int64_t images = x.size(1) - global_tokens_;
  LACT_CHECK(grid.height % 2 == 0 && grid.width % 2 == 0 && images % (grid.height * grid.width) == 0,
             "[token merging] {} x {} patches of an image do not divide into squares of 2 x 2", grid.height,
             grid.width);
  const at::Tensor planes =
      x.narrow(1, global_tokens_, images).reshape({-1, grid.height, grid.width, from_}).permute({0, 3, 1, 2});
  const at::Tensor merged =
      at::conv2d(planes, weight_.to(x.scalar_type()), bias_.to(x.scalar_type()), at::IntArrayRef({2, 2}),
                 at::IntArrayRef({0, 0}), at::IntArrayRef({1, 1}), /*groups=*/from_)
          .permute({0, 2, 3, 1})
          .reshape({x.size(0), images / 4, weight_.size(0)});
  if (!widen_) return merged;
  return at::cat({widen_->forward(x.narrow(1, 0, global_tokens_)), merged}, 1);
}

}  // namespace lact::models
