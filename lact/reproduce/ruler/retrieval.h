// The small models that are trained on the needle tasks, and what they score: shared by both tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/reproduce/plan.h"
#include "lact/reproduce/results.h"
#include "lact/reproduce/step.h"
#include "lact/reproduce/verdict.h"

namespace lact::reproduce::ruler {

struct Contender {
  std::string id, name;
  std::vector<std::string> set;  ///< fields of the model that make it
};

/// In the order of the paper's tables; LaCT with Muon is the last.
const std::vector<Contender>& contenders();

/// How much of everything.
struct Size {
  int64_t width, layers, chunk;  ///< the window is as long as the chunk
  int64_t batch, length, shortest, steps;
  int64_t vocabulary, documents;  ///< of the tokenizer, and what it is made from
  std::vector<std::string> rates;
  std::vector<int64_t> lengths;  ///< of the examples that are asked
  int64_t examples, answer_tokens;
  int64_t seeds;
};
Size size(const Plan& plan);

std::string sweep_id(const Contender& contender, const std::string& rate);
std::string training_id(const Contender& contender, int64_t seed);
std::string scores_id(const Contender& contender, int64_t seed);
std::string info_id(const Contender& contender);

/// Text, tokenizer, trainings over the grid of rates, trainings of the other seeds at the best one, scores.
std::vector<Step> steps(const Plan& plan);

/// The rate whose training with seed 1 ended with the lowest validation loss.
std::string best_rate(const Results& results, const Size& size, const Contender& contender);

/// One number per seed: the mean score in per cent over tasks and lengths.
Sample scores(const Results& results, const Size& size, const Contender& contender,
              const std::vector<std::string>& tasks, const std::vector<int64_t>& lengths);

}  // namespace lact::reproduce::ruler
