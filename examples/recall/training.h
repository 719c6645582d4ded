// Trains a contender and measures what it recalls.
#pragma once

#include <functional>
#include <vector>

#include "recall/model.h"

namespace recall {

struct TrainingOptions {
  int64_t steps = 300;
  int64_t batch = 8;
  double rate = 0.01;
  int64_t seed = 1;
};

/// Asked answers and right ones, by distance in tokens.
struct Recall {
  std::vector<int64_t> asked, right;

  /// The share of right answers at distances [begin, end); NaN where nothing was asked.
  double accuracy(int64_t begin, int64_t end) const;
};

struct Outcome {
  Contender contender;
  int64_t parameters = 0;
  std::vector<double> losses;  ///< of each training step
  Recall recall;
  double seconds = 0;
};

/// Called after each step with its number, counted from 1, and its loss.
using Progress = std::function<void(int64_t step, double loss)>;

/// The same seed gives every contender the same sequences in the same order.
Outcome train(const Contender& contender, const Task& task, const Shape& shape,
              const TrainingOptions& options, const Progress& progress);

}  // namespace recall
