#include "lact/models/video/embeddings.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/activations/activations.h"

namespace lact::models {

at::Tensor sinusoidal_embedding(const at::Tensor& timesteps, int64_t channels) {
  const int64_t half = channels / 2;
  const auto precise = timesteps.options().dtype(at::kDouble);
  const at::Tensor frequency = at::pow(10000.0, -at::arange(half, precise) / double(half));
  const at::Tensor angle = timesteps.to(at::kDouble).unsqueeze(-1) * frequency;
  return at::cat({angle.cos(), angle.sin()}, -1);
}

TimeEmbedding::TimeEmbedding(int64_t frequency_dim, int64_t model_dim) : frequency_dim_(frequency_dim) {
  const auto linear = [&](const char* name, int64_t in, int64_t out) {
    return register_module(name, std::make_shared<nn::Linear>(in, out, true));
  };
  in_ = linear("in", frequency_dim, model_dim);
  out_ = linear("out", model_dim, model_dim);
  projection_ = linear("projection", model_dim, kBlockModulations * model_dim);
}

TimeContext TimeEmbedding::forward(const at::Tensor& timesteps) const {
  const profile::Scope part("embedding");
  const at::Tensor waves = sinusoidal_embedding(timesteps, frequency_dim_).to(in_->weight.options());
  const at::Tensor embedding = out_->forward(at::silu(in_->forward(waves)));
  return {embedding,
          projection_->forward(at::silu(embedding)).unflatten(-1, {kBlockModulations, embedding.size(-1)})};
}

TextEmbedding::TextEmbedding(int64_t text_dim, int64_t text_length, int64_t model_dim)
    : text_dim_(text_dim), text_length_(text_length) {
  in_ = register_module("in", std::make_shared<nn::Linear>(text_dim, model_dim, true));
  out_ = register_module("out", std::make_shared<nn::Linear>(model_dim, model_dim, true));
}

at::Tensor TextEmbedding::forward(const at::Tensor& text) const {
  const profile::Scope part("embedding");
  LACT_CHECK(
      text.dim() == 3 && text.size(2) == text_dim_ && text.size(1) <= text_length_ &&
          text.is_floating_point(),
      "[video] the text has shape {} and type {}, expected [B, at most {}, {}] of floating point numbers",
      text.sizes().vec(), toString(text.scalar_type()), text_length_, text_dim_);
  const at::Tensor padded = at::constant_pad_nd(text, {0, 0, 0, text_length_ - text.size(1)});
  return out_->forward(ops::gelu_tanh(in_->forward(padded.to(in_->weight.options()))));
}

}  // namespace lact::models
