#include "lact/models/plan/suggestion.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"

namespace lact::models::plan {

namespace {

/// Tokens per second in steps of a hundredth.
double rank_of_speed(const Prediction& prediction) {
  return std::round(100 * std::log(prediction.tokens_per_second()));
}

bool is_better(const Prediction& a, const Prediction& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.memory.peak() < b.memory.peak();
  if (rank_of_speed(a) != rank_of_speed(b)) return rank_of_speed(a) > rank_of_speed(b);
  return a.memory.peak() < b.memory.peak();
}

bool can_be(const Workload& workload, const Arrangement& arrangement) {
  try {
    check_mesh(workload, arrangement);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<nn::Recompute> recomputes(const Workload& workload, const Choices& choices) {
  if (choices.recompute) return {*choices.recompute};
  if (workload.sizes.pass != Pass::train) return {nn::Recompute::none};
  return {nn::Recompute::none, nn::Recompute::cheap, nn::Recompute::memory, nn::Recompute::blocks};
}

std::vector<Shard> shards(const Choices& choices, const parallel::Mesh& mesh) {
  if (choices.shard) return {*choices.shard};
  if (mesh.ranks() == 1) return {Shard::none};
  return {Shard::none, Shard::optimizer, Shard::parameters};
}

}  // namespace

std::vector<Prediction> suggest(const Workload& workload, const Machine& machine, int64_t ranks,
                                const Arrangement& arrangement, const Choices& choices) {
  std::vector<Prediction> all;
  for (int64_t tensor = 1; tensor <= ranks; ++tensor) {
    for (int64_t context = 1; ranks % tensor == 0 && context <= ranks / tensor; ++context) {
      if (ranks / tensor % context != 0) continue;
      Arrangement one = arrangement;
      one.mesh = {ranks / tensor / context, context, tensor};
      if (!can_be(workload, one)) continue;
      std::optional<Prediction> best;
      for (const auto recompute : recomputes(workload, choices)) {
        for (const auto shard : shards(choices, one.mesh)) {
          one.recompute = recompute, one.shard = shard;
          Prediction found = predict(workload, machine, one);
          if (!best || is_better(found, *best)) best = std::move(found);
        }
      }
      all.push_back(std::move(*best));
    }
  }
  LACT_CHECK(
      !all.empty(),
      "[plan] no mesh of {} ranks fits this model: its heads, its chunks or the {} micro-batches do not "
      "divide",
      ranks, arrangement.accumulate);
  std::stable_sort(all.begin(), all.end(), is_better);
  return all;
}

}  // namespace lact::models::plan
