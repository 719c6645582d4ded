// What a run wrote down while it trained: metrics.jsonl, one object of numbers per line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lact/eval/plot.h"

namespace lact::eval {

/// A field's values against steps.
struct Curve {
  std::vector<double> step, value;
};
using Curves = std::map<std::string, Curve>;

/// Reads FOLDER/metrics.jsonl. The last line may be cut off, as by a process that was killed; anything else
/// that is not an object with a number "step" is an error with the line's number.
Curves read_curves(const std::string& folder);

/// Means over `window` values that end at each one, for figures that jump from batch to batch.
Curve smoothed(const Curve& curve, int64_t window);

}  // namespace lact::eval
