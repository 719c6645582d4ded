// The probe is a language model of two blocks. Its profile tells how long each part of a training step took,
// the prediction's own counts tell how much work that was; the quotient is the share of the peak. Without
// Muon, and with a recurrence, the same again tells these two apart from the rest.
#include "lact/models/plan/this_machine.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lact/base/memory_use.h"
#include "lact/base/profile.h"
#include "lact/base/threads.h"
#include "lact/models/lm/loss.h"
#include "lact/models/lm/model.h"
#include "lact/models/plan/loopback.h"
#include "lact/models/plan/prediction.h"
#include "lact/models/plan/stopwatch.h"
#include "lact/ops/dispatch/limits.h"

namespace lact::models::plan {

namespace {

constexpr int64_t kTokens = 1024, kFewTokens = 32;

LmConfig probe_config() {
  LmConfig config;
  config.vocabulary_size = 2048;
  config.model_dim = 512;
  config.num_layers = 2;
  config.layer = lm_layer(8, 4);
  config.feed_forward.hidden_dim = lm_hidden_dim(512);
  config.chunk_size = config.window_size = 512;
  return config;
}

using Seconds = std::map<std::string, double>;  // of a step, by part; "" is the whole

/// The least of some steps, part by part: what disturbs the machine lasts for some of them only.
Seconds measured_step(const LmConfig& config, bool bf16, int64_t tokens, int repeats) {
  LanguageModel model(config);
  model.set_compute_type(bf16 ? at::kBFloat16 : at::kFloat);
  const at::Tensor ids = at::randint(config.vocabulary_size, {1, tokens + 1}, at::kLong);
  Seconds best;
  for (int i = 0; i < repeats + 1; ++i) {
    for (auto& parameter : model.parameters()) parameter.mutable_grad() = at::Tensor();
    profile::start();
    const Stopwatch watch;
    next_token_losses(model, model.hidden(ids.narrow(1, 0, tokens)), ids.narrow(1, 1, tokens))
        .mean()
        .backward();
    const double seconds = watch.seconds(), own = seconds / watch.wall();
    Seconds parts;
    for (const auto& part : profile::stop()) parts[part.name] = own * (part.forward + part.backward);
    parts[""] = seconds;
    if (i <= 1) best = parts;  // the first one warms up
    for (const auto& [name, took] : parts) best[name] = std::min(best[name], took);
  }
  return best;
}

/// Operations and bytes of a whole step, by the names of the prediction's parts.
struct Counts {
  std::map<std::string, double> flops, bytes;

  explicit Counts(const LmConfig& config, bool bf16) {
    Sizes sizes;
    sizes.bf16 = bf16;
    sizes.length = kTokens;
    const Workload all = workload(config, sizes);
    const auto add = [&](const WorkPart& part, double times) {
      flops[part.name] += times * (1 + part.backward) * part.flops;
      bytes[part.name] += times * (1 + part.backward) * (part.bytes + part.weights);
    };
    for (const auto& block : all.blocks)
      for (const auto& part : block.parts) add(part, double(block.count));
    for (const auto& part : all.others) add(part, 1);
  }
};

/// Nothing reaches more than the peak, and a disturbed measurement must not say "never".
double share_of(double flops, double seconds, double peak) {
  constexpr double kLeast = 0.01;
  return seconds <= 0 ? 1 : std::clamp(flops / seconds / peak, kLeast, 1.0);
}

void calibrate(Machine& machine, bool bf16) {
  const LmConfig muon = probe_config();
  LmConfig plain = muon, recurrent = muon;
  plain.layer.memory.update.muon = false;
  recurrent.mixer = MixerKind::gla;
  const Seconds with = measured_step(muon, bf16, kTokens, 2),
                without = measured_step(plain, bf16, kTokens, 2),
                gla = measured_step(recurrent, bf16, kTokens, 1);
  Counts counts(muon, bf16), of_gla(recurrent, bf16);
  const auto seconds = [](const Seconds& step, const std::string& part) {
    const auto found = step.find(part);
    return found == step.end() ? 0 : found->second;
  };
  const double peak = machine.peak(bf16);
  const double elementwise =
      seconds(with, "norms") + seconds(with, "other") + seconds(with, "memory preparation");
  machine.stream = (counts.bytes["norms and residuals"] + counts.bytes["memory preparation"]) / elementwise;
  const auto share = [&](Counts& of, const std::string& part, double took) {
    return share_of(of.flops[part], took - of.bytes[part] / machine.stream, peak);
  };
  Shares& shares = bf16 ? machine.bf16_shares : machine.f32_shares;
  const double products = counts.flops["projections"] + counts.flops["feed-forward"];
  const double product_bytes = counts.bytes["projections"] + counts.bytes["feed-forward"];
  shares.products = share_of(
      products, seconds(with, "projections") + seconds(with, "feed-forward") - product_bytes / machine.stream,
      peak);
  shares.attention = share(counts, "window attention", seconds(with, "window attention"));
  const double scan = std::min(seconds(without, "fast weights"), seconds(with, "fast weights"));
  shares.scan = share(counts, "memory scan", scan);
  shares.newton_schulz = share(counts, "Newton-Schulz", seconds(with, "fast weights") - scan);
  shares.recurrence = share(of_gla, "recurrence", seconds(gla, "recurrence"));

  // What a step on a few tokens takes beyond its work.
  Sizes few;
  few.bf16 = bf16;
  few.length = kFewTokens;
  const Workload small = workload(muon, few);
  double work = predict(small, machine, {}).compute;
  for (const auto& part : predict(small, machine, {}).work)
    if (part.name == "optimizer") work -= part.seconds;
  const double took = measured_step(muon, bf16, kFewTokens, 5).at("");
  machine.overhead = std::max(0.0, took - work) / double(muon.num_layers);
}

}  // namespace

Machine this_machine(bool bf16, int64_t ranks) {
  const ops::MachineLimits limits = ops::machine_limits(/*brief=*/true);
  Machine machine;
  machine.name = fmt::format("this machine, {} cores", threads_in_use());
  machine.f32 = limits.f32;
  machine.bf16 = limits.peak();
  calibrate(machine, bf16);
  const auto count = double(ranks);
  machine.f32 /= count, machine.bf16 /= count, machine.stream /= count;
  machine.memory = double(machine_memory_bytes()) / count;
  machine.ranks_per_node = ranks;
  // A sum reads and writes besides what the wire takes.
  machine.inside = machine.between = loopback();
  machine.inside.bandwidth /= 2, machine.between.bandwidth /= 2;
  machine.assumptions = {
      fmt::format("measured just now: {:.0f} GFLOP/s in {} with {} threads",
                  (bf16 ? limits.peak() : limits.f32) / 1e9, bf16 ? "bf16" : "f32", limits.threads),
      "shares of it, elementwise speed and the cost of calls: from the profile of training steps of a model "
      "of "
      "two blocks of width 512",
      fmt::format("ranks share cores and memory; half of the loopback's {:.1f} GB/s between them, no overlap",
                  2 * machine.inside.bandwidth / 1e9)};
  return machine;
}

}  // namespace lact::models::plan
