#include "lact/nn/linear.h"

#include "lact/base/error.h"
#include "lact/nn/init.h"
#include "lact/ops/linear/linear.h"

namespace lact::nn {

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  LACT_CHECK(in > 0 && out > 0, "[linear] a layer from {} to {} channels, expected at least 1", in, out);
  weight = register_parameter("weight", at::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", at::empty({out}));
  init_linear(*this, kLinearStd);
}

ops::WeightError Linear::compress(ops::WeightFormat format) {
  LACT_CHECK(!is_compressed(), "[linear] the weight is compressed already");
  compressed_.emplace(weight.detach(), format);
  parameters_.erase("weight");
  weight = at::Tensor();
  return compressed_->error();
}

at::Tensor Linear::forward(const at::Tensor& x) const {
  if (compressed_) {
    LACT_CHECK(!at::GradMode::is_enabled(),
               "[linear] the weight is compressed: the layer cannot be trained, only run without gradients");
    return ops::compressed_linear(x, *compressed_, bias);
  }
  LACT_CHECK(x.size(-1) == weight.size(1), "[linear] the input is {} wide, expected {}", x.size(-1),
             weight.size(1));
  if (ops::is_few_token_linear(x, weight)) return ops::few_token_linear(x, weight, bias);
  return ops::linear(x, weight, bias);
}

at::Tensor Linear::forward_rows(const at::Tensor& x, int64_t first, int64_t count) const {
  if (compressed_) return forward(x).narrow(-1, first, count);
  LACT_CHECK(x.size(-1) == weight.size(1), "[linear] the input is {} wide, expected {}", x.size(-1),
             weight.size(1));
  return ops::linear(x, weight.narrow(0, first, count),
                     bias.defined() ? bias.narrow(0, first, count) : at::Tensor());
}

}  // namespace lact::nn
