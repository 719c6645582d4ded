#include "recall/model.h"

#include <ATen/ATen.h>

#include "lact/models/common/layers.h"
#include "lact/nn/init.h"

namespace recall {

namespace {

std::shared_ptr<lact::Mixer> make_mixer(int64_t model_dim, Memory memory) {
  lact::attention::AttentionConfig attention;
  attention.head_norm = true;
  if (memory == Memory::window_only) {
    return lact::models::make_layer(model_dim, lact::models::AttentionLayerConfig{{}, attention});
  }
  lact::models::HybridLayerConfig config;
  config.attention = attention;
  config.memory.num_heads = 1;
  if (memory == Memory::muon) {
    config.memory.update.muon = config.memory.update.momentum = true;
    config.memory.base_rate =
        0.01;  // Muon sets the size of a step; rates only weigh tokens against each other
  } else {
    config.memory.base_rate = 0.1;  // the best of 0.01, 0.03 and 0.1
  }
  return lact::models::make_layer(model_dim, config);
}

}  // namespace

std::vector<Contender> contenders() {
  return {{"LaCT, Muon and momentum", "muon", Memory::muon},
          {"LaCT, gradient descent", "gradient_descent", Memory::gradient_descent},
          {"window attention only", "window_only", Memory::window_only}};
}

Model::Model(const Task& task, const Shape& shape, Memory memory)
    : layout_(lact::causal_layout(task.tokens, /*chunk=*/shape.window, shape.window)) {
  const int64_t width = shape.model_dim;
  key_embedding_ = register_parameter("key_embedding", at::randn({task.keys + 1, width}));
  value_embedding_ = register_parameter("value_embedding", at::randn({task.values + 1, width}));
  input_ = register_module("input", std::make_shared<lact::nn::Linear>(3 * width, width, false));
  const lact::nn::NormOptions norm;
  // Without fast weights, a wider feed-forward brings the model to the size of the others.
  const int64_t hidden = memory == Memory::window_only ? 195 : 128;
  const lact::nn::FeedForwardOptions feed_forward = {.hidden_dim = hidden};
  block_ = register_module(
      "block",
      std::make_shared<lact::models::Block>(
          width, norm, std::vector<std::shared_ptr<lact::Mixer>>{make_mixer(width, memory)}, feed_forward));
  norm_ = register_module("norm", std::make_shared<lact::nn::Norm>(width, norm));
  output_ = register_module("output", std::make_shared<lact::nn::Linear>(width, task.values, false));
}

at::Tensor Model::forward(const Batch& batch) const {
  const at::Tensor told_key = at::embedding(key_embedding_, batch.key);
  const at::Tensor told_value = at::embedding(value_embedding_, batch.value);
  const at::Tensor asked_key = at::embedding(key_embedding_, batch.asked);
  const at::Tensor x = input_->forward(at::cat({told_key, told_value, asked_key}, -1));
  return output_->forward(norm_->forward(block_->forward(x, layout_)));
}

int64_t Model::num_parameters() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace recall
