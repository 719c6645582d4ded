// The outcome of the demonstration as a table, charts and a file for programs.
#pragma once

#include <string>
#include <vector>

#include "lact/eval/plot.h"
#include "recall/training.h"

namespace recall {

/// Distances [begin, end) that are counted together: powers of two up to the sequence.
struct Bucket {
  int64_t begin, end;
};
std::vector<Bucket> buckets(const Task& task);

struct Report {
  Task task;
  Shape shape;
  TrainingOptions training;
  std::vector<Outcome> outcomes;

  std::string table() const;
  lact::eval::Plot recall_plot() const;
  lact::eval::Series window_line() const;  ///< upright, where the window ends; for the picture
  lact::eval::Plot training_plot() const;
  std::string json() const;
};

}  // namespace recall
