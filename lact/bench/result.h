// One line of a benchmark, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lact/base/options.h"

namespace lact::bench {

/// A figure that does not apply is absent. A wrong answer leaves only the names and max_error.
struct Result {
  std::string area;
  std::string shape;
  std::string rule;       ///< update rule, part of a step or weight format; may be empty
  std::string pass;       ///< "forward", "forward+backward", "training step", ...
  std::string precision;  ///< of the tokens: "bf16" or "f32"

  std::optional<double> seconds = {};          ///< the best run
  std::optional<double> median_seconds = {};   ///< of all runs
  std::optional<double> share_of_peak = {};    ///< of the machine's peak, or of its bandwidth when decoding
  std::optional<double> vs_pytorch_bf16 = {};  ///< PyTorch's seconds / ours
  std::optional<double> vs_pytorch_f32 = {};
  std::optional<double> vs_reference = {};       ///< the reference form's seconds / ours
  std::optional<double> extra_memory_mb = {};    ///< most resident memory during the call, beyond its inputs
  std::optional<double> memory_vs_pytorch = {};  ///< ours / PyTorch's in the same precision
  std::optional<double> max_error = {};          ///< against the reference, relative to the largest element
  std::string note = {};                         ///< what else was found
  options::Json sizes = {};                      ///< numbers that the shape's name stands for; null for none

  bool wrong = false;  ///< the answer was not the reference's: nothing was timed
};

options::Json to_json(const Result& result);

/// What was measured, and the same with the figures.
std::string title(const Result& result);
std::string line(const Result& result);

/// One row per result under a heading, or "" for none.
std::string table(const std::vector<Result>& results);

}  // namespace lact::bench
