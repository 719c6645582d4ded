// What a run would take. Memory is estimated from the sizes of what is kept for the backward pass; the speed
// is measured on one sequence where that is quick, and otherwise assumed.
#include <ATen/ATen.h>

#include <chrono>
#include <cmath>

#include "lact/base/format.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/tasks/lm/training/run.h"
#include "lact/train/memory_needed.h"

namespace lact::tasks::lm {

namespace {

constexpr double kLongestProbe = 10;   // seconds
constexpr double kLargestProbe = 2e9;  // bytes
constexpr double kFloat = 4;

bool keeps_cheap_ones(nn::Recompute recompute) {
  return recompute == nn::Recompute::none || recompute == nn::Recompute::blocks;
}

/// Activations that the backward pass needs of the fast weights of one block, in elements.
double fast_weight_activations(const models::LmConfig& model, const ttt::LactConfig& memory, double length,
                               nn::Recompute recompute) {
  const auto width = double(model.model_dim);
  const auto cost = models::fast_weight_cost(model.model_dim, memory);
  // What was read, and the hidden layers of reading and writing.
  const double hidden_layers = recompute == nn::Recompute::memory ? 0 : 5;
  double elements = length * width * (1 + hidden_layers * memory.hidden_multiple);
  // Scaled and prepared q and k, v, a float32 copy of the input, the normed output.
  if (keeps_cheap_ones(recompute)) elements += length * 8 * width;
  const double updates = std::ceil(length / double(model.chunk_size)) - 1;
  const double per_update = memory.update.muon && recompute != nn::Recompute::memory
                                ? 6 + 5 * double(memory.update.newton_schulz.steps)
                                : 6;
  return elements + updates * per_update * double(cost.state);
}

bool remembers_by_token(models::MixerKind kind) {
  using models::MixerKind;
  return kind == MixerKind::gla || kind == MixerKind::deltanet || kind == MixerKind::mamba2;
}

/// Activations of one block that the backward pass needs, in elements for a sequence of `length` tokens.
double block_activations(const models::LmConfig& model, models::MixerKind kind, double length,
                         nn::Recompute recompute) {
  const auto width = double(model.model_dim), hidden = double(model.feed_forward.hidden_dim);
  // Inputs of both halves, q, k, v, what attention found, the mixer's sum; gate and up.
  double elements = length * (7 * width + 2 * hidden);
  // Normed inputs, rotated q and k; the gated layer.
  if (keeps_cheap_ones(recompute)) elements += length * (4 * width + hidden);
  if (!ops::fused_paths()) {
    // Scores and their softmax: each query sees up to a window, rounded up to whole blocks.
    const double seen = kind == models::MixerKind::full ? length : double(model.window_size);
    elements += length * double(model.layer.attention.num_heads) * 2 * 2 * std::min(length, seen);
  }
  if (kind == models::MixerKind::lact) {
    elements += fast_weight_activations(model, model.layer.memory, length, recompute);
  } else if (kind == models::MixerKind::ttt) {
    elements += fast_weight_activations(model, model.layer.ttt, length, recompute);
  } else if (remembers_by_token(kind)) {
    // Prepared q, k, v, gates, what was read.
    elements += length * 5 * width;
  }
  return elements;
}

struct Estimate {
  double parameters, weights, activations;
  double bytes() const { return weights + activations; }
};

Estimate estimate(const Run& run) {
  const auto cost = models::cost(run.model);
  const auto parameters = double(cost.total().parameters);
  const auto tokens = double(run.batches.length), rows = double(run.batches.batch);
  double all = 0, largest = 0;
  for (const auto& blocks : cost.blocks) {
    const double block = rows * block_activations(run.model, blocks.mixer, tokens, run.recompute);
    all += double(blocks.count) * block;
    largest = std::max(largest, block);
  }
  const double between = rows * tokens * double(run.model.model_dim) * double(run.model.num_layers);
  double activations = run.recompute == nn::Recompute::blocks ? largest + between : all;
  // Logits and their gradient, a stretch at a time.
  activations += 3 * std::min(rows * tokens * double(run.model.vocabulary_size), double(1 << 24));
  const double scale = ops::resolved(run.precision) == ops::Precision::bf16 ? 0.6 : 1;
  return {parameters, train::bytes_to_train({parameters, parameters}, run.training),
          activations * kFloat * scale};
}

/// Tokens per second of one forward and backward pass over one sequence.
double probe(const Run& run) {
  models::LanguageModel model(run.model);
  model.set_compute_type(ops::compute_type(run.precision));
  model.set_recompute(run.recompute);
  const at::Tensor ids = at::randint(run.model.vocabulary_size, {1, run.batches.length}, at::kLong);
  double best = 0;
  for (int i = 0; i < 2; ++i) {
    const auto start = std::chrono::steady_clock::now();
    model.logits(model.hidden(ids)).logsumexp(-1).mean().backward();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, double(run.batches.length) / seconds);
  }
  return best;
}

}  // namespace

train::Plan Run::plan() const {
  const Estimate memory = estimate(*this);
  const double per_token = 3 * mean_flops(model, batches.length);
  const auto tokens_per_step = double(batches.batch * batches.length) * double(training.accumulate);
  const double tokens = tokens_per_step * double(training.steps);
  train::Plan plan;
  plan.parameters = memory.parameters;
  plan.shape = fmt::format("{} blocks of width {}", model.num_layers, model.model_dim);
  plan.add("step",
           fmt::format("{} sequences of {} tokens, {} tokens in all", batches.batch * training.accumulate,
                       batches.length, format_count(tokens_per_step)));
  plan.add("run", fmt::format("{} steps, {} tokens", training.steps, format_count(tokens)));
  plan.add("memory", fmt::format("about {}: {} weights, gradients and moments, {} activations",
                                 format_bytes(memory.bytes()), format_bytes(memory.weights),
                                 format_bytes(memory.activations)));
  plan.work = per_token * tokens;
  plan.unit = "token";
  plan.units = tokens;
  const bool quick = per_token * double(batches.length) / train::assumed_speed() < kLongestProbe &&
                     memory.bytes() < kLargestProbe;
  if (quick) plan.measured_speed = probe(*this);
  return plan;
}

}  // namespace lact::tasks::lm
