// Stretches of a training run, one after the other, each with batches of its own kind. A Stage has a field
// `steps`: optimizer steps of it; 0, of the last one: all that are left.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/base/error.h"
#include "lact/train/ranges.h"

namespace lact::train {

/// The stage that batch `number` belongs to.
template <class Stage>
const Stage& stage_of_batch(const std::vector<Stage>& stages, int64_t number, int64_t accumulate) {
  int64_t step = number / accumulate;
  for (const Stage& stage : stages) {
    if (stage.steps == 0 || step < stage.steps) return stage;
    step -= stage.steps;
  }
  return stages.back();
}

/// visit(stage, its number from 1, its steps) for stages that have been checked.
template <class Stage, class Visit>
void for_each_stage(const std::vector<Stage>& stages, int64_t steps, const Visit& visit) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const int64_t own = stages[i].steps > 0 ? stages[i].steps : steps;
    steps -= own;
    visit(stages[i], i + 1, own);
  }
}

/// Throws one sentence if the stages do not add up to the run's steps. `check(stage, number, between)` looks
/// at everything else; between(name, value, least, most) throws the sentence for a field of that stage.
template <class Stage, class Check>
void check_stages_of(const std::vector<Stage>& stages, int64_t steps, const Check& check) {
  LACT_CHECK(!stages.empty(), "[train] there is no stage, expected at least one");
  int64_t before = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const auto between = [&](const char* name, auto value, decltype(value) least, decltype(value) most) {
      check_range(fmt::format("stage {}: {}", i + 1, name), value, least, most);
    };
    check(stage, i + 1, between);
    const bool last = i + 1 == stages.size();
    between("steps", stage.steps, last ? 0 : 1, kMostSteps);
    before += stage.steps;
    LACT_CHECK(last ? before <= steps : before < steps,
               "[train] the first {} stages have {} steps, but the whole run {}", i + 1, before, steps);
    LACT_CHECK(!last || stage.steps == 0 || before == steps,
               "[train] the stages have {} steps together, but the run {}", before, steps);
  }
}

}  // namespace lact::train
