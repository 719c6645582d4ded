// Recipes: training runs as files, with the model, the stages, batches and rates of a published curriculum.
#pragma once

#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/tasks/nvs/training/run.h"

namespace lact::tasks::nvs {

/// A JSON object with fields of a Run, and "about", a text. "model" may be the name of a preset or the path
/// of a config.
struct Recipe {
  std::string about;
  options::Json fields;  ///< what it says of a run
};

Recipe read_recipe(const std::string& file);

/// Fields that it does not mention keep what they have.
void apply_recipe(const Recipe& recipe, const std::string& file, Run& run);

/// How much of a curriculum a smaller machine does: factors of the steps and of the scenes in a batch.
struct RecipeScale {
  double steps = 1, batch = 1;
};

/// Steps, warm-ups and their like become fewer, at least one each; so do scenes and accumulated batches.
/// Gives a sentence for each thing that is not as in the recipe any more.
std::vector<std::string> scale_run(Run& run, const RecipeScale& scale);

}  // namespace lact::tasks::nvs
