// `lact nvs train --recipe FILE`.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "lact/tasks/nvs/training/recipe.h"

namespace lact::cli {

struct RecipeArguments {
  std::string file;
  tasks::nvs::RecipeScale scale;
};

/// --recipe, --scale-steps, --scale-batch
void add_recipe_options(CLI::App& verb, RecipeArguments& arguments);

/// Makes the run what the recipe says, smaller if asked; says what was changed. Throws a sentence if an
/// option was given that the recipe speaks of.
void follow_recipe(const CLI::App& verb, const RecipeArguments& arguments, tasks::nvs::Run& run);

}  // namespace lact::cli
