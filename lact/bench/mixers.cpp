// One layer of every mixer of a text, or a block around it, at equal width, against the length of the text:
// who is linear, who is quadratic, and where they cross.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lact/bench/areas.h"
#include "lact/bench/memory.h"
#include "lact/models/common/block.h"
#include "lact/models/lm/config.h"

namespace lact::bench {

namespace {

using models::MixerKind;

struct MixerSizes {
  int64_t model_dim, heads, memory_heads, chunk, window;
  std::vector<int64_t> lengths;
};

MixerSizes mixer_sizes(bool quick) {
  if (quick) return {32, 2, 1, 32, 32, {32, 64, 128}};
  return {512, 8, 2, 1024, 1024, {512, 1024, 2048, 4096, 8192, 16384, 32768}};
}

/// A word of a config; LaCT's also with simpler steps than momentum and Muon.
struct MixerVariant {
  MixerKind kind;
  std::string name;
  bool momentum = true, muon = true;
};

std::vector<MixerVariant> mixer_variants() {
  std::vector<MixerVariant> variants;
  for (const auto& [kind, word] : enum_names(MixerKind{})) {
    if (kind == MixerKind::perceiver || kind == MixerKind::mamba2_block) continue;  // for views only
    variants.push_back({kind, std::string(word)});
    if (kind != MixerKind::lact) continue;
    variants.push_back({kind, "lact momentum", true, false});
    variants.push_back({kind, "lact gd", false, false});
  }
  return variants;
}

/// The original regime of test-time training writes a few tokens at a time.
constexpr int64_t kSmallChunk = 64;

class MixerProblem {
 public:
  /// One layer, or with `whole_block` also the norms and feed-forward network around it.
  MixerProblem(const MixerVariant& variant, const MixerSizes& sizes, bool whole_block)
      : width_(sizes.model_dim),
        window_(sizes.window),
        chunk_(variant.kind == MixerKind::ttt ? std::min(kSmallChunk, sizes.chunk) : sizes.chunk) {
    at::manual_seed(17);
    auto config = models::lm_layer(sizes.heads, sizes.memory_heads);
    // The paper's widths of a head, as far as the width of the layer allows: 384 and 128.
    config.gla.num_heads = sizes.memory_heads;
    config.deltanet.num_heads = config.mamba2.num_heads = std::max<int64_t>(1, width_ / 128);
    config.memory.update.momentum = variant.momentum;
    config.memory.update.muon = variant.muon;
    const auto layer = models::make_layer(width_, variant.kind, config);
    const models::LmConfig model;
    auto feed_forward = model.feed_forward;
    feed_forward.hidden_dim = models::lm_hidden_dim(width_);
    if (whole_block) {
      block_ = std::make_shared<models::Block>(width_, model.norm, std::vector<std::shared_ptr<Mixer>>{layer},
                                               feed_forward);
    } else {
      layer_ = layer;
    }
    int64_t numbers = 0;
    for (const auto& parameter : parameters()) numbers += parameter.numel();
    const auto cost = models::sum("layer", models::layer_cost(width_, variant.kind, config, {}));
    sizes_ = {{"width", width_},     {"chunk", chunk_},       {"window", window_},
              {"state", cost.state}, {"parameters", numbers}, {"whole_block", whole_block}};
  }

  options::Json sizes(int64_t tokens) const {
    options::Json sizes = {{"tokens", tokens}};
    sizes.update(sizes_);
    return sizes;
  }

  at::Tensor tokens(int64_t count, at::ScalarType type = at::kBFloat16) const {
    at::manual_seed(18);
    return at::randn({1, count, width_}).to(type);
  }

  at::Tensor forward(const at::Tensor& x) const {
    at::NoGradGuard no_grad;
    return run(x, causal_layout(x.size(1), chunk_, window_));
  }

  /// Output and gradients; x is also what the output's gradient is taken to be.
  std::vector<at::Tensor> train(const at::Tensor& x) const {
    const at::Tensor leaf = x.detach().requires_grad_(true);
    const at::Tensor out = run(leaf, causal_layout(x.size(1), chunk_, window_));
    out.backward(x);
    std::vector<at::Tensor> results = {out.detach(), leaf.grad()};
    for (auto& parameter : parameters()) {
      if (parameter.grad().defined()) results.push_back(parameter.grad().clone());
      parameter.mutable_grad() = at::Tensor();
    }
    return results;
  }

  std::unique_ptr<State> read(const at::Tensor& x) const {
    at::NoGradGuard no_grad;
    std::unique_ptr<State> state = block_ ? block_->initial_state(1) : layer_->initial_state(1);
    advance(x, causal_piece(0, x.size(1), chunk_, window_), *state);
    return state;
  }

  at::Tensor write_one(const at::Tensor& x, int64_t position, State& state) const {
    at::NoGradGuard no_grad;
    return advance(x, causal_piece(position, 1, chunk_, window_), state);
  }

  /// Against the plain form in float32, on as many tokens as one chunk is written and read of.
  double error() const {
    const int64_t count = chunk_ + chunk_ / 2;
    std::vector<at::Tensor> expected;
    with_paths(false, [&] { expected = train(tokens(count).to(at::kFloat)); });
    return norm_error(train(tokens(count)), expected);
  }

 private:
  at::Tensor run(const at::Tensor& x, const SequenceLayout& layout) const {
    return block_ ? block_->forward(x, layout) : layer_->forward(x, layout);
  }
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) const {
    return block_ ? block_->advance(x, layout, static_cast<models::BlockState&>(state))
                  : layer_->advance(x, layout, state);
  }
  std::vector<at::Tensor> parameters() const { return block_ ? block_->parameters() : layer_->parameters(); }

  int64_t width_, window_, chunk_;
  std::shared_ptr<Mixer> layer_;  ///< one of the two is null
  std::shared_ptr<models::Block> block_;
  options::Json sizes_;
};

constexpr const char *kForward = "forward", *kTraining = "training step", *kDecoding = "decode";

struct Lengths {
  MixerKind kind;
  std::string name;
  eval::Series per_token;  ///< microseconds of a training step
};

Trial trial_of(const Lengths& mixer, const MixerProblem& problem, const char* pass, int64_t tokens) {
  Trial trial;
  trial.row = {"mixers", fmt::format("{} tokens", tokens), mixer.name, pass, "bf16"};
  trial.row.sizes = problem.sizes(tokens);
  return trial;
}

void measure_forward(Session& session, const Lengths& mixer, const MixerProblem& problem, int64_t tokens) {
  const at::Tensor x = problem.tokens(tokens);
  Trial forward = trial_of(mixer, problem, kForward, tokens);
  forward.run = [&] { problem.forward(x); };
  forward.memory = true;
  if (const Result row = session.measure(forward); row.seconds) {
    session.note(fmt::format("{:.0f} tokens/s", double(tokens) / *row.seconds));
  }
}

void measure_training(Session& session, Lengths& mixer, const MixerProblem& problem, int64_t tokens,
                      bool check) {
  const at::Tensor x = problem.tokens(tokens);
  Trial training = trial_of(mixer, problem, kTraining, tokens);
  training.run = [&] { problem.train(x); };
  training.memory = true;
  // Longer texts are more of the same, and the plain form is slow.
  if (check) training.error = [&] { return problem.error(); };
  training.tolerance = 0.15;
  if (const Result row = session.measure(training); row.seconds) {
    session.note(fmt::format("{:.0f} tokens/s", double(tokens) / *row.seconds));
    mixer.per_token.x.push_back(double(tokens));
    mixer.per_token.y.push_back(*row.seconds / double(tokens) * 1e6);
  }
}

void measure_decoding(Session& session, const Lengths& mixer, const MixerProblem& problem, int64_t tokens) {
  constexpr int64_t kCount = 16;
  const auto state = problem.read(problem.tokens(tokens));
  const at::Tensor one = problem.tokens(1);
  int64_t position = tokens;
  Trial decoding = trial_of(mixer, problem, kDecoding, tokens);
  decoding.run = [&] {
    for (int64_t i = 0; i < kCount; ++i) problem.write_one(one, position++, *state);
  };
  decoding.count = kCount;
  session.measure(decoding);
}

/// Where a line through points on logarithmic axes first passes below another; absent if it does not.
std::optional<double> crossing(const eval::Series& slow, const eval::Series& fast) {
  for (size_t i = 1; i < std::min(slow.x.size(), fast.x.size()); ++i) {
    const double before = std::log(slow.y[i - 1] / fast.y[i - 1]), after = std::log(slow.y[i] / fast.y[i]);
    if (before > 0 || after <= 0) continue;
    return slow.x[i - 1] * std::pow(slow.x[i] / slow.x[i - 1], -before / (after - before));
  }
  return std::nullopt;
}

}  // namespace

void bench_mixers(Session& session) {
  const MixerSizes sizes = mixer_sizes(session.quick());
  const char* title =
      session.options().block ? "A training step of one block" : "A training step of one layer";
  eval::Plot plot = {title, "tokens of the text", "microseconds per token", {}, true, 0, {}};
  std::vector<Lengths> mixers;
  for (const MixerVariant& variant : mixer_variants()) {
    Lengths mixer = {variant.kind, variant.name, {variant.name, {}, {}}};
    const MixerProblem problem(variant, sizes, session.options().block);
    bool checked = false;
    for (const int64_t tokens : sizes.lengths) {
      const auto wanted = [&](const char* pass) {
        return session.wants(fmt::format("{} tokens {} {}", tokens, mixer.name, pass));
      };
      if (wanted(kForward)) measure_forward(session, mixer, problem, tokens);
      if (wanted(kTraining)) {
        measure_training(session, mixer, problem, tokens, !checked);
        checked = true;
        if (session.results().back().wrong) break;
      }
      if (wanted(kDecoding)) measure_decoding(session, mixer, problem, tokens);
    }
    if (!mixer.per_token.x.empty()) mixers.push_back(std::move(mixer));
  }
  const auto full = std::find_if(mixers.begin(), mixers.end(),
                                 [](const Lengths& mixer) { return mixer.kind == MixerKind::full; });
  for (const auto& mixer : mixers) {
    if (full != mixers.end() && mixer.kind != MixerKind::full) {
      if (const auto tokens = crossing(full->per_token, mixer.per_token)) {
        session.note(
            fmt::format("{} is faster than full attention from {:.0f} tokens on", mixer.name, *tokens));
      }
    }
    plot.series.push_back(mixer.per_token);
  }
  if (!plot.series.empty()) session.plots.push_back({"mixers", plot});
}

}  // namespace lact::bench
