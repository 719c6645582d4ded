#include "lact/models/umt5/encoder.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"
#include "lact/nn/init.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/linear/linear.h"
#include "lact/ops/norms/norms.h"

namespace lact::models {

namespace {

struct Umt5Group : torch::nn::Module {};

/// Makes parameters below dotted names.
class Umt5Parameters {
 public:
  Umt5Parameters(torch::nn::Module& owner, at::ScalarType type) : owner_(owner), type_(type) {}

  /// "attn.q" makes the module attn with a module q, whose parameter is "weight". Random numbers have this
  /// deviation around `mean`.
  at::Tensor add(const std::string& path, at::IntArrayRef sizes, double mean, double deviation) {
    torch::nn::Module* owner = &owner_;
    std::string rest = path + ".weight";
    for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
      owner = &child(*owner, rest.substr(0, dot));
      rest = rest.substr(dot + 1);
    }
    const at::Tensor value = at::empty(sizes, type_);
    nn::init_normal(value, deviation, mean);
    return owner->register_parameter(rest, value);
  }

 private:
  static torch::nn::Module& child(torch::nn::Module& owner, const std::string& name) {
    const auto children = owner.named_children();
    if (const auto* found = children.find(name)) return **found;
    return *owner.register_module(name, std::make_shared<Umt5Group>());
  }

  torch::nn::Module& owner_;
  at::ScalarType type_;
};

}  // namespace

void Umt5Config::check() const {
  check_size("vocabulary", vocabulary);
  check_size("model_dim", model_dim);
  check_size("attention_dim", attention_dim);
  check_size("hidden_dim", hidden_dim);
  check_size("num_heads", num_heads);
  check_size("num_layers", num_layers, kMostLayers);
  check_size("buckets", buckets, 1 << 12);
  check_size("furthest", furthest);
  check_positive("norm_epsilon", norm_epsilon);
  LACT_CHECK(attention_dim % num_heads == 0,
             "[config] num_heads is {}, which does not divide attention_dim {}", num_heads, attention_dim);
  LACT_CHECK(buckets % 4 == 0, "[config] buckets is {}, expected a multiple of 4", buckets);
  LACT_CHECK(furthest > buckets / 4, "[config] furthest is {}, expected more than the {} shortest distances",
             furthest, buckets / 4);
}

at::Tensor distance_buckets(int64_t queries, int64_t keys, int64_t buckets, int64_t furthest) {
  const at::Tensor apart = at::arange(keys).unsqueeze(0) - at::arange(queries).unsqueeze(1);
  const int64_t half = buckets / 2, exact = half / 2;
  const at::Tensor distance = apart.abs();
  const at::Tensor growth = (distance.clamp_min(1).to(at::kFloat) / double(exact)).log() /
                            std::log(double(furthest) / double(exact)) * double(half - exact);
  const at::Tensor shared = (exact + growth.to(at::kLong)).clamp_max(half - 1);
  return (apart > 0).to(at::kLong) * half + at::where(distance < exact, distance, shared);
}

/// x + attention(norm1(x)), then x + network(norm2(x)).
class Umt5Block : public torch::nn::Module {
 public:
  Umt5Block(const Umt5Config& config, at::ScalarType type) : config_(config) {
    Umt5Parameters parameters(*this, type);
    const int64_t width = config.model_dim, inner = config.attention_dim, hidden = config.hidden_dim;
    const double head_dim = double(inner / config.num_heads), fan_in = 1 / std::sqrt(double(width));
    norm1_ = parameters.add("norm1", {width}, 1, 0);
    // The scale that this attention does not have is in the first values of q.
    q_ = parameters.add("attn.q", {inner, width}, 0, fan_in / std::sqrt(head_dim));
    k_ = parameters.add("attn.k", {inner, width}, 0, fan_in);
    v_ = parameters.add("attn.v", {inner, width}, 0, fan_in);
    output_ = parameters.add("attn.o", {width, inner}, 0, 1 / std::sqrt(double(inner)));
    norm2_ = parameters.add("norm2", {width}, 1, 0);
    gate_ = parameters.add("ffn.gate.0", {hidden, width}, 0, fan_in);
    up_ = parameters.add("ffn.fc1", {hidden, width}, 0, fan_in);
    down_ = parameters.add("ffn.fc2", {width, hidden}, 0, 1 / std::sqrt(double(hidden)));
    position_bias_ = parameters.add("pos_embedding.embedding", {config.buckets, config.num_heads}, 0, fan_in);
  }

  /// x [B, L, M]; `groups` [L, L] of distance_buckets; `hidden_keys` [B, 1, 1, L] is true at padding.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& groups, const at::Tensor& hidden_keys) const {
    const at::Tensor y = x + attention(norm(x, norm1_), groups, hidden_keys);
    const at::Tensor z = norm(y, norm2_);
    return y + ops::linear(ops::linear(z, up_) * ops::gelu_tanh(ops::linear(z, gate_)), down_);
  }

 private:
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const {
    return ops::rms_norm(x, weight.to(x.scalar_type()), config_.norm_epsilon);
  }

  at::Tensor attention(const at::Tensor& x, const at::Tensor& groups, const at::Tensor& hidden_keys) const {
    const auto heads = [&](const at::Tensor& weight) {  // [B, H, L, D]
      return ops::linear(x, weight).unflatten(-1, {config_.num_heads, -1}).transpose(1, 2);
    };
    const at::Tensor bias = at::embedding(position_bias_, groups).permute({2, 0, 1}).to(x.scalar_type());
    at::Tensor scores = at::matmul(heads(q_), heads(k_).transpose(2, 3)) + bias;
    scores = scores.masked_fill(hidden_keys, -std::numeric_limits<float>::max());
    const at::Tensor seen = at::matmul(scores.softmax(-1), heads(v_));
    return ops::linear(seen.transpose(1, 2).flatten(2).contiguous(), output_);
  }

  Umt5Config config_;
  at::Tensor norm1_, q_, k_, v_, output_, norm2_, gate_, up_, down_, position_bias_;
};

Umt5Encoder::Umt5Encoder(const Umt5Config& config, at::ScalarType type) : config_(config) {
  config.check();
  Umt5Parameters parameters(*this, type);
  embedding_ = parameters.add("token_embedding", {config.vocabulary, config.model_dim}, 0, 1);
  const auto blocks = register_module("blocks", std::make_shared<Umt5Group>());
  for (int64_t i = 0; i < config.num_layers; ++i)
    blocks_.push_back(blocks->register_module(std::to_string(i), std::make_shared<Umt5Block>(config, type)));
  norm_ = parameters.add("norm", {config.model_dim}, 1, 0);
}

at::Tensor Umt5Encoder::forward(const at::Tensor& ids, const at::Tensor& mask) const {
  LACT_CHECK(ids.dim() == 2 && ids.numel() > 0 && ids.scalar_type() == at::kLong,
             "[umt5] ids have shape {} and dtype {}, expected [batch, tokens] of int64", ids.sizes().vec(),
             toString(ids.scalar_type()));
  if (ops::has_values(ids)) {
    const int64_t low = ids.min().item<int64_t>(), high = ids.max().item<int64_t>();
    LACT_CHECK(low >= 0 && high < config_.vocabulary, "[umt5] token {}, expected 0 to {}",
               low < 0 ? low : high, config_.vocabulary - 1);
  }
  LACT_CHECK(!mask.defined() || mask.sizes() == ids.sizes(), "[umt5] the mask has shape {}, expected {}",
             mask.sizes().vec(), ids.sizes().vec());
  const int64_t length = ids.size(1);
  const auto device = embedding_.device();
  const at::Tensor hidden_keys =
      (mask.defined() ? mask.eq(0) : at::zeros_like(ids, at::kBool)).unsqueeze(1).unsqueeze(1).to(device);
  const at::Tensor groups = distance_buckets(length, length, config_.buckets, config_.furthest).to(device);
  const auto type = ops::wide_type(embedding_.scalar_type());
  at::Tensor x = at::embedding(embedding_, ids.to(device)).to(type);
  for (const auto& block : blocks_) x = block->forward(x, groups, hidden_keys);
  return ops::rms_norm(x, norm_.to(type), config_.norm_epsilon).to(ids.device());
}

}  // namespace lact::models
