#include "lact/mixers/head_output.h"

#include <ATen/ATen.h>

#include "lact/nn/init.h"
#include "lact/nn/recompute.h"

namespace lact {

HeadOutput::HeadOutput(torch::nn::Module& owner, int64_t model_dim, int64_t num_heads, int64_t head_dim,
                       const HeadOutputConfig& config)
    : factor_(config.factor) {
  if (config.norm) {
    const nn::NormOptions options = {nn::NormKind::rms, config.norm_epsilon};
    norm_ = owner.register_module("norm", std::make_shared<nn::Norm>(head_dim, options));
  }
  if (config.scale != OutputScale::none) {
    const int64_t values = config.scale == OutputScale::per_head ? num_heads : 1;
    scale_ = owner.register_module("scale", std::make_shared<nn::Linear>(model_dim, values, true));
    if (config.zero_scale) nn::init_zero(*scale_);
  }
}

at::Tensor HeadOutput::forward(const at::Tensor& read, const at::Tensor& x, bool checkpoint) const {
  std::vector<at::Tensor> inputs = {read};
  if (scale_) inputs.push_back(scale_->forward(x));
  const auto run = [norm = norm_, factor = factor_,
                    type = x.scalar_type()](const std::vector<at::Tensor>& in) {
    at::Tensor out = norm ? norm->forward(in[0]) : in[0];
    // [B, T, H or 1] -> [B, H or 1, T, 1]
    if (in.size() > 1) out = out * at::silu(in[1]).transpose(1, 2).unsqueeze(3);
    if (factor != 1) out = out * factor;
    return out.transpose(1, 2).flatten(2).to(type);
  };
  // The memory of the result is its readers' affair; this is only about what lies between.
  const bool changes = norm_ || scale_ || factor_ != 1;
  return nn::ActivationCheckpointing(checkpoint && changes).run(run, inputs);
}

}  // namespace lact
