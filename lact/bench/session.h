// One run of `lact bench`: what the areas share. An area makes Trials; the session checks each answer against
// the reference first, times ours, the reference's and PyTorch's turn by turn, and keeps the rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/bench/machine.h"
#include "lact/bench/peer.h"
#include "lact/bench/result.h"
#include "lact/bench/timing.h"
#include "lact/eval/plot.h"

namespace lact::bench {

struct BenchOptions {
  RaceOptions race;
  bool quick = false;  ///< small shapes: shows that everything runs, says nothing about speed
  bool peers = true;
  bool block = false;               ///< mixers: whole blocks instead of layers
  int64_t clients = 64;             ///< serve: at the same time
  double seconds = 20;              ///< serve: as long as they ask
  std::vector<std::string> shapes;  ///< only those whose name contains one of these; empty: all
  PeerOptions peer;
};

/// Something that PyTorch does as well.
struct PeerForm {
  std::string precision;  ///< "bf16" or "f32"
  options::Json request;
};

/// PyTorch's operations in this process, through LibTorch.
struct Rival {
  std::string precision;
  std::function<void()> run;
};

/// A measure of how wrong an answer is, and how wrong it may be.
struct Check {
  std::string name;
  std::function<double()> error;
  double tolerance = 0;
};

/// Rounding that grows: Newton-Schulz turns small differences of a gradient into large ones of the weights,
/// which the next chunk's gradient is taken with. In bfloat16 the whole answer then says little, and an
/// answer beyond the tolerance is right only if it is at most half again as far off as the reference form in
/// the same precision, and if the same computation is right where rounding does not grow.
struct GrowingRounding {
  std::function<double()> reference_error;  ///< of the reference form in our precision
  std::vector<Check> checks;                ///< where it does not grow: in float32, or on few chunks
};

struct Trial {
  Result row;  ///< with area, shape, rule, pass and precision
  /// The largest relative difference between our answer and the reference's. Empty: nothing to check.
  std::function<double()> error;
  double tolerance = 0;
  std::optional<GrowingRounding> rounding;
  std::function<void()> run;        ///< ours, once
  std::function<void()> reference;  ///< the reference form, once; may be empty
  std::vector<PeerForm> forms;      ///< PyTorch's forms; the fastest of a precision counts
  std::vector<Rival> rivals;        ///< likewise, in this process
  double work = 0;                  ///< operations or bytes that are executed; 0: no share
  double limit = 0;                 ///< of these per second: the machine's peak or bandwidth
  bool memory = false;              ///< also measure it
  double count = 1;                 ///< a run does it so many times; the row and `work` are of one
};

struct AreaPlot {
  std::string area;
  eval::Plot plot;
};

class Session {
 public:
  explicit Session(const BenchOptions& options);

  const BenchOptions& options() const { return options_; }
  const Machine& machine() const { return machine_; }
  bool quick() const { return options_.quick; }

  /// Whether --shape asks for this one.
  bool wants(const std::string& shape) const;

  /// Checks, times and keeps a row; returns a copy of it. A wrong answer is kept without a time, and said.
  Result measure(const Trial& trial);

  /// A row that was measured otherwise.
  void add(Result row);

  /// Adds words to the last row.
  void note(const std::string& text);

  /// The peer's answer; absent, and said once, if there is none.
  std::optional<options::Json> ask(const options::Json& request);

  /// Whether PyTorch runs and has a function of this name.
  bool peer_has(const std::string& name);

  const std::vector<Result>& results() const { return results_; }
  std::vector<AreaPlot> plots;                ///< what areas want drawn
  std::function<void(const Result&)> on_row;  ///< called with each new row; may be empty
  bool any_wrong() const;

 private:
  Peer* peer();
  /// Whether the answer is right; fills in the row's error and says what was checked.
  static bool is_right(const Trial& trial, Result& row);
  void add_forms(const Trial& trial, std::vector<Contender>& contenders);
  void measure_memory(const Trial& trial, Result& row);

  BenchOptions options_;
  Machine machine_;
  std::unique_ptr<Peer> peer_;
  int peer_starts_ = 0;
  std::vector<Result> results_;
};

/// max |found - expected| / max |expected| of the worst tensor; infinite if one is not finite or has another
/// shape.
double largest_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected);

/// |found - expected| / |expected| over all tensors together.
double norm_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected);

/// Runs something with the fast paths on or off.
void with_paths(bool fused, const std::function<void()>& action);

at::ScalarType type_of(const std::string& precision);

}  // namespace lact::bench
