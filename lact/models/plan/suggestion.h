// The meshes that a number of ranks allows, from the fastest that fits into memory on.
#pragma once

#include <optional>
#include <vector>

#include "lact/models/plan/prediction.h"

namespace lact::models::plan {

/// What is tried besides the mesh where the caller leaves it open.
struct Choices {
  std::optional<nn::Recompute> recompute;
  std::optional<Shard> shard;
};

/// One prediction for each mesh of `ranks` ranks that can be, with the fastest choices that fit; those that
/// fit first, then by tokens per second; among those within a hundredth of each other, the one with less
/// memory. `arrangement` gives batch and accumulation. Throws a sentence if no mesh can be.
std::vector<Prediction> suggest(const Workload& workload, const Machine& machine, int64_t ranks,
                                const Arrangement& arrangement, const Choices& choices);

}  // namespace lact::models::plan
