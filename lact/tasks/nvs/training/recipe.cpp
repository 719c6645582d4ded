#include "lact/tasks/nvs/training/recipe.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/models/presets.h"

namespace lact::tasks::nvs {

namespace {

int64_t scaled(int64_t count, double factor) {
  return count == 0 ? 0 : std::max<int64_t>(1, std::llround(double(count) * factor));
}

}  // namespace

Recipe read_recipe(const std::string& file) {
  Recipe recipe;
  recipe.fields = options::read_json_file(file);
  LACT_CHECK(recipe.fields.is_object(), "{}: is no recipe, expected an object with fields of a run", file);
  if (const auto about = recipe.fields.find("about"); about != recipe.fields.end()) {
    options::read(*about, recipe.about, file + ": about");
    recipe.fields.erase("about");
  }
  return recipe;
}

void apply_recipe(const Recipe& recipe, const std::string& file, Run& run) {
  options::Json fields = recipe.fields;
  try {
    if (const auto model = fields.find("model"); model != fields.end() && model->is_string()) {
      const auto config = models::resolve_config(model->get<std::string>(), {});
      LACT_CHECK(task_of(config) == models::Task::nvs, "model is {}, which is no view-synthesis model",
                 model->get<std::string>());
      run.model = std::get<models::NvsConfig>(config);
      fields.erase("model");
    }
    options::read(fields, run);
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
}

std::vector<std::string> scale_run(Run& run, const RecipeScale& scale) {
  std::vector<std::string> changes;
  auto& training = run.training;
  const auto change = [&](const std::string& what, int64_t& value, double factor) {
    const int64_t before = value;
    value = scaled(value, factor);
    if (value != before) changes.push_back(fmt::format("{}: {} instead of {}", what, value, before));
  };
  if (scale.steps != 1) {
    change("warm-up", training.warmup, scale.steps);
    change("steps", training.steps, scale.steps);
    change("steps before the perceptual loss", run.loss.perceptual_from, scale.steps);
    int64_t left = training.steps;
    for (size_t i = 0; i < run.stages.size(); ++i) {
      Stage& stage = run.stages[i];
      const std::string name = fmt::format("stage {}, ", i + 1);
      // The sum is that of the run, whatever rounding does.
      if (i + 1 == run.stages.size()) stage.steps = 0;
      change(name + "steps", stage.steps, scale.steps);
      left -= stage.steps;
      if (stage.warmup) change(name + "warm-up", *stage.warmup, scale.steps);
    }
    LACT_CHECK(left > 0, "[train] {} steps are too few for {} stages", training.steps, run.stages.size());
  }
  if (scale.batch != 1) {
    const int64_t accumulate = training.accumulate;
    training.accumulate = scaled(accumulate, scale.batch);
    for (size_t i = 0; i < run.stages.size(); ++i) {
      Stage& stage = run.stages[i];
      const int64_t before = stage.scenes * accumulate;
      stage.scenes = scaled(before, scale.batch / double(training.accumulate));
      changes.push_back(fmt::format("stage {}, scenes of a step: {} instead of {}", i + 1,
                                    stage.scenes * training.accumulate, before));
    }
  }
  return changes;
}

}  // namespace lact::tasks::nvs
