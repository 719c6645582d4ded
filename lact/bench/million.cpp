// One layer over a million tokens that are all one chunk: what large chunks are for, and whether memory
// allows it.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/bench/areas.h"
#include "lact/bench/memory.h"
#include "lact/bench/work.h"
#include "lact/models/common/layers.h"

namespace lact::bench {

namespace {

struct Layer {
  std::shared_ptr<SingleMixer> mixer;
  int64_t width;

  explicit Layer(int64_t model_dim) : width(model_dim) {
    at::manual_seed(17);
    models::LactLayerConfig config;
    config.memory.num_heads = 1;
    config.memory.update.muon = true;
    mixer = models::make_layer(model_dim, config);
  }

  /// Forward and backward; x [1, T, M] is also what the output's gradient is taken to be.
  std::vector<at::Tensor> run(const at::Tensor& x, bool backward) const {
    SequenceLayout layout;
    layout.tokens = x.size(1);
    layout.schedule = ttt::full_schedule(x.size(1));
    layout.keep_writes_from = x.size(1);
    if (!backward) {
      at::NoGradGuard no_grad;
      return {mixer->forward(x, layout)};
    }
    const at::Tensor leaf = x.detach().requires_grad_(true);
    mixer->zero_grad();
    at::Tensor out = mixer->forward(leaf, layout);
    out.backward(x);
    std::vector<at::Tensor> results = {out.detach(), leaf.grad()};
    for (auto& parameter : mixer->parameters()) {
      if (parameter.grad().defined()) results.push_back(parameter.grad().clone());
      parameter.mutable_grad() = at::Tensor();
    }
    return results;
  }

  at::Tensor tokens(int64_t count) const {
    at::manual_seed(18);
    return at::randn({1, count, width}).to(at::kBFloat16);
  }

  double error(int64_t count, bool backward) const {
    const at::Tensor x = tokens(count);
    std::vector<at::Tensor> expected;
    with_paths(false, [&] { expected = run(x.to(at::kFloat), backward); });
    return norm_error(run(x, backward), expected);
  }
};

/// The memory of a call over `tokens`, from one over a share of them. False, and said, if there is not so
/// much.
bool fits(const Layer& layer, int64_t tokens) {
  const int64_t sample = tokens / 16;
  const at::Tensor x = layer.tokens(sample);
  const auto bytes = extra_peak_bytes([&] { layer.run(x, true); });
  const double needed = 16 * double(bytes.value_or(0)), there = double(available_bytes());
  if (needed < 0.9 * there) return true;
  log::warn("{} tokens would take about {:.1f} GB, of which {:.1f} are free; not measured", tokens,
            needed / 1e9, there / 1e9);
  return false;
}

}  // namespace

void bench_million(Session& session) {
  const int64_t tokens = session.quick() ? 4096 : 1048576, width = session.quick() ? 32 : 256;
  const int64_t checked = session.quick() ? 256 : 16384;
  const Layer layer(width);
  Trial trial;
  trial.row = {"million", fmt::format("{} tokens, 1x{}", tokens, width), "muon", "forward+backward", "bf16"};
  if (!session.wants(trial.row.shape)) return;
  bool enough = false;
  with_paths(true, [&] { enough = fits(layer, tokens); });
  if (!enough) {
    trial.row.note = "not enough memory";
    session.add(trial.row);
    return;
  }
  // The reference keeps too much of a million tokens for a backward pass; that is checked on fewer.
  trial.error = [&] { return layer.error(checked, true); };
  trial.tolerance = 0.15;
  const at::Tensor x = layer.tokens(tokens);
  trial.run = [&] { layer.run(x, true); };
  const TttShape shape = {1, tokens, tokens, width, width, false, true};
  trial.work =
      ttt_work(shape, Pass::forward_backward, false) + 3 * 8 * double(width * width) * double(tokens);
  trial.limit = session.machine().limits.peak();
  trial.memory = true;
  const Result row = session.measure(trial);
  if (!row.wrong)
    session.note(fmt::format("process at its peak {:.2f} GB", double(peak_resident_bytes()) / 1e9));
}

}  // namespace lact::bench
