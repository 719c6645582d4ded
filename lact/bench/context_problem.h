// One layer of a language model over a long text whose tokens ranks share out: what each rank does when it is
// asked, and what has to move for it.
#pragma once

#include <memory>
#include <string>

#include "lact/mixers/sharding.h"
#include "lact/models/common/layers.h"
#include "lact/train/gradient_sum.h"

namespace lact::bench {

struct ContextShape {
  int64_t tokens = 0, chunk = 0;
  std::string text() const;
};

/// The width and window of lm_small, or a few numbers.
struct ContextSizes {
  int64_t model_dim = 0, window = 0;
  models::HybridLayerConfig layer;
  std::vector<ContextShape> shapes;
  explicit ContextSizes(bool quick);
};

/// What one pass has to move, by the formula.
struct ContextTraffic {
  int64_t sums = 0;         ///< one for each chunk that is written
  double summed_bytes = 0;  ///< 3 d dh numbers each, whatever the chunk's length
  double halo_bytes = 0;    ///< keys and values before each rank's part, of all ranks
  double step_bytes = 0;    ///< Muon's steps, of which each rank has orthogonalised some heads for all
};
ContextTraffic expected_traffic(const ContextSizes& sizes, const ContextShape& shape, int64_t ranks,
                                at::ScalarType type);

class ContextProblem {
 public:
  ContextProblem(const ContextSizes& sizes, const parallel::World& world);

  /// Runs {"tokens", "chunk", "precision", "backward"} once, all ranks beginning together; gives its seconds,
  /// memory and what has moved. With "check": numbers that belong to the answer, to be added up over ranks.
  options::Json answer(const options::Json& request);

 private:
  ContextSizes sizes_;
  parallel::World world_;
  std::shared_ptr<Mixer> layer_;
  train::GradientSum gradients_;
};

}  // namespace lact::bench
