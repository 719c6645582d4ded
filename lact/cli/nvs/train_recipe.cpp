#include "lact/cli/nvs/train_recipe.h"

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"

namespace lact::cli {

namespace {

/// The options that say what a field of a recipe says.
std::vector<std::string> options_for(const std::string& field, const options::Json& value) {
  if (field == "model") return {"--config", "--set"};
  if (field == "stages") return {"--stage", "--size", "--inputs", "--targets", "--batch", "--near"};
  if (!value.is_object()) return {option_name(field)};
  std::vector<std::string> names;
  for (const auto& [inner, inner_value] : value.items())
    for (auto& name : options_for(inner, inner_value)) names.push_back(std::move(name));
  return names;
}

}  // namespace

void add_recipe_options(CLI::App& verb, RecipeArguments& arguments) {
  const char* const group = "Recipe";
  auto* recipe = verb.add_option("--recipe", arguments.file,
                                 "Model, stages, batches and rates from this file, such as those in "
                                 "configs/recipes/; photos and where the run goes are given as usual")
                     ->group(group);
  const auto scale = [&](const char* name, double& value, const char* help) {
    add_number(verb, name, value, help, Limits{1e-9, 1})->capture_default_str()->group(group)->needs(recipe);
  };
  scale("--scale-steps", arguments.scale.steps, "Share of the recipe's steps and warm-ups that are done");
  scale("--scale-batch", arguments.scale.batch, "Share of the recipe's scenes in a step");
}

void follow_recipe(const CLI::App& verb, const RecipeArguments& arguments, tasks::nvs::Run& run) {
  const auto recipe = tasks::nvs::read_recipe(arguments.file);
  for (const auto& [field, value] : recipe.fields.items()) {
    for (const auto& name : options_for(field, value)) {
      const auto* option = verb.get_option_no_throw(name);
      LACT_CHECK(option == nullptr || option->count() == 0,
                 "[train] {} is given, but the recipe {} says this; leave one of them out", name,
                 arguments.file);
    }
  }
  tasks::nvs::apply_recipe(recipe, arguments.file, run);
  for (const auto& change : tasks::nvs::scale_run(run, arguments.scale))
    log::info("not as in the recipe: {}", change);
}

}  // namespace lact::cli
