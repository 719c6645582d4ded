#include "lact/mixers/recurrent/mamba2_block.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/convolution.h"
#include "lact/mixers/heads.h"
#include "lact/mixers/recurrent/core.h"
#include "lact/nn/init.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/recurrences/ssd.h"

namespace lact::recurrent {

namespace {

/// The official initial values: decay rates a in [1, 16], step sizes in [0.001, 0.1] on a logarithmic scale.
constexpr double kLeastDecay = 1, kLargestDecay = 16;
constexpr double kLeastStep = 1e-3, kLargestStep = 0.1;

/// Uniform in [low, high].
at::Tensor drawn_between(int64_t count, double low, double high) {
  at::Tensor values = at::zeros({count});
  nn::init_uniform(values, (high - low) / 2);
  return values + (high + low) / 2;
}

at::Tensor turned(const at::Tensor& x, int64_t dim, Direction direction) {
  return direction == Direction::right_to_left ? x.flip(dim) : x;
}

}  // namespace

void Mamba2BlockState::visit(StateVisitor& visitor, const std::string& prefix) {
  for (size_t i = 0; i < scans.size(); ++i) {
    visitor.tensor(fmt::format("{}scan{}.tail", prefix, i), scans[i].tail, -1);
    visitor.tensor(fmt::format("{}scan{}.memory", prefix, i), scans[i].memory, -1);
  }
}

Mamba2Scan::Mamba2Scan(int64_t num_heads, const Mamba2BlockConfig& config)
    : num_heads_(num_heads), head_dim_(config.head_dim), state_dim_(config.state_dim) {
  const int64_t inner = num_heads * head_dim_, channels = inner + 2 * state_dim_;
  const double bound = 1 / std::sqrt(double(config.conv_width));
  conv_weight_ = register_parameter("conv_weight", at::empty({channels, config.conv_width}));
  conv_bias_ = register_parameter("conv_bias", at::empty({channels}));
  nn::init_uniform(conv_weight_, bound);
  nn::init_uniform(conv_bias_, bound);
  const at::Tensor step = drawn_between(num_heads, std::log(kLeastStep), std::log(kLargestStep)).exp();
  step_bias_ = register_parameter("step_bias", step + at::log(-at::expm1(-step)));  // softplus⁻¹
  decay_log_ = register_parameter("decay_log", drawn_between(num_heads, kLeastDecay, kLargestDecay).log());
  skip_ = register_parameter("skip", at::ones({num_heads}));
  const nn::NormOptions options = {nn::NormKind::rms, config.norm_epsilon};
  norm_ = register_module("norm", std::make_shared<nn::Norm>(inner, options));
}

Mamba2BlockState::Scan Mamba2Scan::initial_state(int64_t batch) const {
  const auto options = decay_log_.options();
  return {at::zeros({batch, conv_weight_.size(1) - 1, conv_weight_.size(0)}, options),
          at::zeros({batch, num_heads_, state_dim_, head_dim_}, options)};
}

at::Tensor Mamba2Scan::run(const at::Tensor& xbc, const at::Tensor& steps,
                           Mamba2BlockState::Scan& state) const {
  const at::Tensor mixed = causal_convolution(xbc, conv_weight_.t().contiguous(), state.tail);
  const auto parts = at::silu(mixed + conv_bias_.to(mixed.scalar_type()))
                         .split_with_sizes({num_heads_ * head_dim_, state_dim_, state_dim_}, -1);
  const at::Tensor x = to_heads(parts[0], num_heads_), b = parts[1].unsqueeze(1), c = parts[2].unsqueeze(1);
  const at::Tensor step = at::softplus(ops::at_least_float(steps) + step_bias_).transpose(1, 2);  // [B, H, T]
  const at::Tensor log_decay = -decay_log_.exp().unsqueeze(1) * step;
  const at::Tensor values = (x * step.unsqueeze(-1)).to(x.scalar_type());
  const ops::RecurrenceResult result = ops::ssd(c, b, values, log_decay, state.memory);
  state.memory = result.state;
  return result.out + skip_.view({-1, 1, 1}) * x;
}

at::Tensor Mamba2Scan::forward(const at::Tensor& z, const at::Tensor& xbc, const at::Tensor& steps,
                               const SequenceLayout& layout, Direction direction,
                               Mamba2BlockState::Scan& state) const {
  std::vector<at::Tensor> outputs;
  for (const auto& [range, passage] : joined_stretches(layout)) {
    LACT_CHECK(passage != Passage::read_only,
               "[mamba2 block] tokens that only read have no place before its convolution");
    const auto part = [&, &tokens = range](const at::Tensor& all) {
      return turned(all.narrow(1, tokens.begin, tokens.size()), 1, direction);
    };
    Mamba2BlockState::Scan after = state;
    outputs.push_back(turned(run(part(xbc), part(steps), after), 2, direction));
    if (passage == Passage::remembered) state = std::move(after);
  }
  const at::Tensor y = (outputs.size() == 1 ? outputs[0] : at::cat(outputs, 2)).transpose(1, 2).flatten(2);
  return norm_->forward(y * at::silu(ops::at_least_float(z))).to(z.scalar_type());
}

Mamba2Block::Mamba2Block(int64_t model_dim, const Mamba2BlockConfig& config) {
  LACT_CHECK(
      config.state_dim > 0 && config.head_dim > 0 && config.expand > 0 && config.conv_width > 0,
      "[mamba2 block] state_dim {}, head_dim {}, expand {} and conv_width {}, expected at least 1 each",
      config.state_dim, config.head_dim, config.expand, config.conv_width);
  inner_dim_ = config.expand * model_dim;
  state_dim_ = config.state_dim;
  LACT_CHECK(inner_dim_ % config.head_dim == 0,
             "[mamba2 block] heads of {} channels do not divide {} times the model width {}", config.head_dim,
             config.expand, model_dim);
  num_heads_ = inner_dim_ / config.head_dim;
  const int64_t rows = 2 * inner_dim_ + 2 * state_dim_ + num_heads_;
  input_ = register_module("input", std::make_shared<nn::Linear>(model_dim, rows, false));
  for (int i = 0; i < (config.both_ways ? 2 : 1); ++i) {
    scans_.push_back(
        register_module("scan" + std::to_string(i), std::make_shared<Mamba2Scan>(num_heads_, config)));
  }
  output_ = register_module("output", std::make_shared<nn::Linear>(inner_dim_, model_dim, false));
}

std::unique_ptr<State> Mamba2Block::initial_state(int64_t batch) {
  auto state = std::make_unique<Mamba2BlockState>();
  for (const auto& scan : scans_) state->scans.push_back(scan->initial_state(batch));
  return state;
}

at::Tensor Mamba2Block::advance(const at::Tensor& x, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("recurrence");
  check_tokens(x, layout);
  check_direction("mamba2 block", scans_.size() == 2, layout);
  LACT_CHECK(!layout.sharding,
             "[mamba2 block] its convolution does not reach over ranks that share a sequence");
  auto& state = dynamic_cast<Mamba2BlockState&>(any_state);
  const auto parts =
      input_->forward(x).split_with_sizes({inner_dim_, inner_dim_ + 2 * state_dim_, num_heads_}, -1);
  at::Tensor y =
      scans_[0]->forward(parts[0], parts[1], parts[2], layout, Direction::left_to_right, state.scans[0]);
  if (scans_.size() == 2) {
    y = y +
        scans_[1]->forward(parts[0], parts[1], parts[2], layout, Direction::right_to_left, state.scans[1]);
  }
  return output_->forward(y);
}

ResidualMamba2Block::ResidualMamba2Block(int64_t model_dim, const Mamba2BlockConfig& config,
                                         double norm_epsilon) {
  const nn::NormOptions options = {nn::NormKind::rms, norm_epsilon};
  norm_ = register_module("norm", std::make_shared<nn::Norm>(model_dim, options));
  block_ = register_module("mamba", std::make_shared<Mamba2Block>(model_dim, config));
}

}  // namespace lact::recurrent
