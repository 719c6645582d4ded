// The small models of views that the figures compare. All have the same width, depth, data and number of
// steps, and differ in what lies between the views.
#pragma once

#include <string>
#include <vector>

#include "lact/reproduce/plan.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce::views {

/// What all trainings have in common; `plan` says how long they are.
struct Setting {
  int64_t size = 16;  ///< pixels of a side
  int64_t inputs = 8, targets = 4, batch = 4;
  int64_t steps = 2, sweep_steps = 2, warmup = 1, validations = 1;
  int64_t test_scenes = 1, valid_scenes = 1;
  std::vector<int64_t> counts;     ///< of views that the tests read
  std::vector<std::string> rates;  ///< the grid, the same for all
  int64_t seeds = 1;
  int64_t captures = 1, splat_iterations = 1;  ///< of Gaussian splatting, which is optimised for each scene
};

Setting setting_of(const Plan& plan);

struct Contender {
  std::string id;      ///< in the ids of its steps
  std::string label;   ///< for people
  std::string preset;  ///< of `lact nvs train --config`
  std::vector<std::string> changes;
};

/// Fast weights of one head, SwiGLU, Muon; `multiple` is the hidden width / the model's: the state of a block
/// is 3 · multiple · d².
Contender lact_model(const std::string& multiple);
/// The same as lact_model("2").
Contender main_model();
Contender gradient_descent_model();
Contender momentum_model();
Contender linear_model();  ///< W x, d² of state
Contender mamba2_model();  ///< both directions, d² of state together
Contender full_attention_model();
Contender perceiver_model();
Contender long_lrm_model();

/// "--config", preset, "--set", ...
Words model_words(const Contender& contender);

}  // namespace lact::reproduce::views
