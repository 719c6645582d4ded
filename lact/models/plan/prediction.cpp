#include "lact/models/plan/prediction.h"

#include <algorithm>

#include "lact/base/error.h"

namespace lact::models::plan {

namespace {

constexpr double kRoomForOthers = 0.95;  // of the machine's memory: runtime, fragments, other programs

PartTime& named(std::vector<PartTime>& parts, const std::string& name, Kind kind) {
  for (auto& part : parts)
    if (part.name == name && part.kind == kind) return part;
  parts.push_back({name, kind});
  return parts.back();
}

/// Seconds of the forward pass, and of everything.
struct Times {
  double forward = 0, all = 0;
};

struct Adding {
  const Workload& workload;
  const Machine& machine;
  const Arrangement& arrangement;

  /// Of `times` sequences in so many batches on this rank, `share` of the operations and of the bytes.
  Times add(std::vector<PartTime>& parts, const WorkPart& part, double times, double batches, double share,
            bool in_block) const {
    const bool trains = workload.sizes.pass == Pass::train, bf16 = workload.sizes.bf16;
    const Repeated again = in_block ? repeated(part, arrangement.recompute) : Repeated();
    const double passes = trains ? 1 + part.backward : 1, flops = part.flops * share * times;
    const double bytes = part.bytes * share * times, weights = part.weights * batches;
    const double more_flops = trains ? again.products * flops : 0;
    const double more_bytes = trains ? again.elementwise * bytes + again.products * weights : 0;
    const double speed = machine.peak(bf16) * machine.shares(bf16).of(part.kind);
    const double forward = flops / speed + (bytes + weights) / machine.stream;
    const double all = passes * forward + more_flops / speed + more_bytes / machine.stream;
    PartTime& sum = named(parts, part.name, part.kind);
    sum.flops += passes * flops + more_flops, sum.bytes += passes * (bytes + weights) + more_bytes;
    sum.seconds += all;
    return {forward, all};
  }
};

}  // namespace

double MemoryUse::peak() const {
  if (gradients_stay) return weights + moments + gradients + activations + workspaces;
  return weights + moments + std::max(gradients, activations) + workspaces;
}

double Prediction::flops() const {
  double all = 0;
  for (const auto& part : work) all += part.flops;
  return all;
}

double Prediction::sent() const {
  double all = 0;
  for (const auto& part : traffic) all += part.sent;
  return all;
}

double Prediction::overhead(const std::string& axis) const {
  double own = 0;
  for (const auto& part : traffic) own += part.axis == axis ? part.seconds : 0;
  return own / compute;
}

Repeated repeated(const WorkPart& part, nn::Recompute recompute) {
  switch (recompute) {
    case nn::Recompute::none:
      return {};
    case nn::Recompute::cheap:
      return {0, 1};
    case nn::Recompute::memory:
      return {part.again, 1};
    case nn::Recompute::blocks:
      return {1, 1};
  }
  return {};
}

void check_mesh(const Workload& workload, const Arrangement& arrangement) {
  const parallel::Mesh& mesh = arrangement.mesh;
  for (const auto& heads : workload.heads) {
    if (heads.count % mesh.tensor == 0) continue;
    std::string all;
    for (const auto& other : workload.heads)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", other.count, other.name);
    fail("[plan] tensor={} does not divide the {} {}: the model has {}", mesh.tensor, heads.count, heads.name,
         all);
  }
  LACT_CHECK(workload.shortest_chunk >= double(mesh.shards()),
             "[plan] a chunk of {:.0f} tokens cannot be shared out over {} ranks (context x tensor)",
             workload.shortest_chunk, mesh.shards());
  LACT_CHECK(arrangement.micro_batches() % mesh.data == 0,
             "[plan] {} micro-batches cannot be shared out over data={}", arrangement.micro_batches(),
             mesh.data);
}

Prediction predict(const Workload& workload, const Machine& machine, const Arrangement& asked) {
  check_mesh(workload, asked);
  Arrangement arrangement = asked;
  // Weights are lent twice, and the backward pass runs a block again while it has them.
  if (asked.shard == Shard::parameters) arrangement.recompute = nn::Recompute::blocks;
  const parallel::Mesh& mesh = arrangement.mesh;
  const bool trains = workload.sizes.pass == Pass::train;
  const auto own_batches = double(arrangement.micro_batches() / mesh.data);
  const double sequences = own_batches * double(arrangement.batch);
  const double by_token = 1 / double(mesh.shards());
  Prediction result;
  result.arrangement = arrangement;
  const Adding adding = {workload, machine, arrangement};
  double forward = 0;
  const auto add = [&](const WorkPart& part, double count, double share, bool in_block) {
    const Times seconds =
        adding.add(result.work, part, count * sequences, count * own_batches, share, in_block);
    forward += seconds.forward, result.compute += seconds.all;
  };
  for (const auto& block : workload.blocks) {
    for (const auto& part : block.parts) {
      const bool repeats = part.kind == Kind::newton_schulz && !arrangement.share_newton_schulz;
      add(part, double(block.count), repeats ? 1 / double(mesh.tensor) : by_token, true);
    }
  }
  for (const auto& part : workload.others) add(part, 1, by_token, false);
  if (trains) {
    // AdamW reads weight, gradient and two moments and writes three of them; the norm reads the gradient,
    // clipping reads and writes it.
    const double copies = arrangement.shard == Shard::none ? 1 : double(mesh.ranks());
    const double bytes = 10 * kFloatBytes * workload.parameters / copies;
    named(result.work, "optimizer", Kind::products) = {"optimizer", Kind::products, 0, bytes,
                                                       bytes / machine.stream};
    result.compute += bytes / machine.stream;
  }
  // A forward pass alone has the share of the overhead that it has of the time.
  const double overhead =
      machine.overhead * double(workload.num_blocks()) * own_batches * (trains ? 1 : 1.0 / 3);
  if (overhead > 0) result.work.push_back({"calls of small operations", Kind::products, 0, 0, overhead});
  result.compute += overhead;

  result.traffic = traffic_of(workload, machine, arrangement);
  double all = 0, of_data = 0;
  for (const auto& part : result.traffic) {
    all += part.seconds;
    if (part.axis == "data") of_data += part.seconds;
  }
  const double backward = std::max(0.0, result.compute - forward) / own_batches;
  result.hidden = std::min(of_data, machine.overlap * backward);
  result.seconds = result.compute + all - result.hidden;
  result.memory = memory_of(workload, arrangement);
  result.tokens = workload.tokens * double(arrangement.batch) * double(arrangement.micro_batches());
  result.fits = result.memory.peak() <= kRoomForOthers * machine.memory;
  return result;
}

}  // namespace lact::models::plan
