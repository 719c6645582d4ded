// Memory of a rank. All of weights, gradients and moments are float32.
#include <algorithm>

#include "lact/models/plan/prediction.h"

namespace lact::models::plan {

namespace {

/// Of one block and sequence on one rank.
double kept_by(const Kept& kept, nn::Recompute recompute, const parallel::Mesh& mesh) {
  const double tokens = 1 / double(mesh.shards()), heads = 1 / double(mesh.tensor);
  const double results = kept.results * tokens + kept.updates * heads;
  const double hidden = kept.hidden * tokens + kept.iterates * heads;
  switch (recompute) {
    case nn::Recompute::none:
    case nn::Recompute::blocks:  // of the block that is computed again
      return results + kept.cheap * tokens + hidden;
    case nn::Recompute::cheap:
      return results + hidden;
    case nn::Recompute::memory:
      return results;
  }
  return 0;
}

}  // namespace

MemoryUse memory_of(const Workload& workload, const Arrangement& arrangement) {
  const parallel::Mesh& mesh = arrangement.mesh;
  const auto batch = double(arrangement.batch), shards = double(mesh.shards());
  const bool trains = workload.sizes.pass == Pass::train;
  double kept = 0, inputs = 0, largest = 0, transient = 0, largest_block = 0, in_blocks = 0, keys = 0;
  for (const auto& block : workload.blocks) {
    const double one = kept_by(block.kept, arrangement.recompute, mesh);
    kept += double(block.count) * one;
    inputs += double(block.count) * block.kept.input / shards;
    largest = std::max(largest, one);
    transient = std::max(transient, block.transient / shards);
    largest_block = std::max(largest_block, block.parameters);
    in_blocks += double(block.count) * block.parameters;
    // Keys and values that came from other shards.
    if (mesh.context > 1) keys = std::max(keys, block.exchanged.keys / double(mesh.tensor));
  }
  MemoryUse use;
  const auto ranks = double(mesh.ranks());
  const bool shares_weights = arrangement.shard == Shard::parameters && ranks > 1;
  // Of blocks a share, and one block that is on loan; the rest every rank has.
  const double all = kFloatBytes * workload.parameters,
               here =
                   shares_weights
                       ? kFloatBytes * (in_blocks / ranks + largest_block + workload.parameters - in_blocks)
                       : all;
  use.weights = here;
  if (!trains) {
    // One block at a time, and nothing is kept.
    use.activations = batch * (largest + workload.other_kept / shards);
    use.workspaces = batch * keys + workload.other_transient;
    return use;
  }
  use.gradients = here;
  use.moments = 2 * all / (arrangement.shard == Shard::none ? 1 : ranks);
  use.gradients_stay = arrangement.micro_batches() > mesh.data;
  const double blocks = arrangement.recompute == nn::Recompute::blocks ? inputs + largest : kept;
  use.activations = batch * (blocks + workload.other_kept / shards);
  use.workspaces = batch * (transient + keys) + workload.other_transient;
  return use;
}

}  // namespace lact::models::plan
