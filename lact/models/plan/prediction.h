// What a step, or a pass, takes on every rank of a mesh: work, bytes moved, memory and time, part by part.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/models/plan/machine.h"
#include "lact/models/plan/workload.h"
#include "lact/nn/recompute.h"
#include "lact/parallel/mesh.h"
#include "lact/parallel/shard.h"

namespace lact::models::plan {

using parallel::Shard;

struct Arrangement {
  parallel::Mesh mesh;
  int64_t batch = 1;       ///< sequences of a micro-batch
  int64_t accumulate = 0;  ///< micro-batches of a step, which the data ranks share out; 0: one each
  nn::Recompute recompute = nn::Recompute::none;
  Shard shard = Shard::none;
  bool share_newton_schulz = true;  ///< context ranks take some heads each and gather them

  int64_t micro_batches() const { return accumulate == 0 ? mesh.data : accumulate; }
};

/// Of one rank and one step.
struct PartTime {
  std::string name;
  Kind kind = Kind::products;
  double flops = 0;
  double bytes = 0;  ///< between memory and processor, by elementwise steps
  double seconds = 0;
};

struct Collective {
  std::string name;
  std::string axis;  ///< data, context or tensor
  double calls = 0;
  double payload = 0;  ///< bytes that the operation is about
  double sent = 0;     ///< bytes that one rank sends
  double seconds = 0;
};

/// Bytes of one rank when it has most.
struct MemoryUse {
  double weights = 0, moments = 0, gradients = 0;
  double activations = 0;
  double workspaces = 0;
  /// Without accumulation gradients take the place of activations as the backward pass frees these.
  bool gradients_stay = false;

  double peak() const;
};

struct Prediction {
  Arrangement arrangement;
  std::vector<PartTime> work;
  std::vector<Collective> traffic;
  MemoryUse memory;
  double compute = 0;  ///< seconds of work
  double hidden = 0;   ///< seconds of collectives behind work
  double seconds = 0;  ///< of the step
  double tokens = 0;   ///< of the step, of all ranks
  bool fits = false;   ///< into the machine's memory

  double flops() const;
  double sent() const;
  double tokens_per_second() const { return tokens / seconds; }
  /// Seconds of collectives along an axis / seconds without any.
  double overhead(const std::string& axis) const;
};

/// Throws a sentence for a mesh that cannot be: heads or micro-batches that do not divide, chunks with fewer
/// tokens than shards.
void check_mesh(const Workload& workload, const Arrangement& arrangement);

Prediction predict(const Workload& workload, const Machine& machine, const Arrangement& arrangement);

/// The parts of it.
MemoryUse memory_of(const Workload& workload, const Arrangement& arrangement);
std::vector<Collective> traffic_of(const Workload& workload, const Machine& machine,
                                   const Arrangement& arrangement);

/// Times that the forward pass of a part runs again for the backward pass.
struct Repeated {
  double products = 0, elementwise = 0;
};
Repeated repeated(const WorkPart& part, nn::Recompute recompute);

}  // namespace lact::models::plan
