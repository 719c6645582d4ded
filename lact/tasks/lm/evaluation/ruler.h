// What a model scores on the needle tasks (lact/data/text/ruler.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lact/data/text/ruler.h"

namespace lact::tasks::lm {
struct Loaded;
}

namespace lact::tasks::lm::ruler {

using data::ruler::Example;
using data::ruler::Material;
using data::ruler::Task;

/// The fraction of the answers that occur in the prediction, whatever their case and order.
double score(const std::string& prediction, const std::vector<std::string>& answers);

/// The mean of the examples' scores in per cent, to two decimals.
double task_score(const std::vector<double>& scores);

struct Options {
  int64_t length = 1024;  ///< tokens of an example with its answer
  int64_t examples = 20;
  uint64_t seed = 1000;
  int64_t answer_tokens = data::ruler::kReserved;
};

struct Result {
  double score = 0;  ///< task_score
  std::vector<double>
      by_depth;  ///< by the quarter of the context in which the first needle stands; NaN: none
};

/// A model's answers, drawn greedily as RULER asks.
Result evaluate(const Loaded& lm, const Task& task, const Material& material, const Options& options,
                const std::function<void()>& on_example = {});

}  // namespace lact::tasks::lm::ruler
