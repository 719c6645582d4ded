// A scan of fast weights as a point of a figure: how many operations of its token products run in a second,
// forward and backward, in bfloat16.
#pragma once

#include <optional>
#include <string>

#include "lact/bench/ttt_problem.h"

namespace lact::bench {

/// GFLOP/s of the token products alone: what Muon takes shows as lost throughput. Absent where nothing was
/// timed.
struct Throughput {
  std::optional<double> ours, pytorch_bf16, pytorch_f32;
};

/// Adds a row of that area.
Throughput measure_throughput(Session& session, const std::string& area, const TttShape& shape);

/// The lines of a figure that belong to one way to write fast weights: ours and PyTorch's.
class ThroughputLines {
 public:
  explicit ThroughputLines(const std::string& name);
  void add(double x, const Throughput& measured);
  void draw(eval::Plot& plot) const;  ///< those that have points

 private:
  eval::Series ours_, bf16_, f32_;
};

/// The machine's peak as a dashed line from one place to another.
eval::Series peak_line(const Session& session, double first, double last);

}  // namespace lact::bench
