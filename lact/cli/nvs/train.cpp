#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/nvs/train_recipe.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/verbs.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/presets.h"
#include "lact/tasks/nvs/training/run.h"

namespace lact::cli {

namespace {

struct NvsTrainArguments {
  std::string config = "nvs_tiny";
  std::vector<std::string> assignments, stages;
  TrainPlace place;
  RecipeArguments recipe;
  tasks::nvs::Stage stage;  ///< the only one, unless there are --stage options
  tasks::nvs::Run run;
};

/// That of --init, with another head or points on rays if --set says so.
models::NvsConfig initial_config(const NvsTrainArguments& arguments) {
  const std::string& initial = arguments.place.initial_model;
  const models::NvsConfig known = models::load_nvs(initial)->config();
  const models::NvsConfig config = changed(known, arguments.assignments);
  LACT_CHECK(models::can_begin_with(config, known),
             "[train] --init {} brings its own model, of which --set may change the head to gaussians, "
             "gaussians.*, and ray_points.* where it has none, alone",
             initial);
  return config;
}

models::NvsConfig nvs_model_config(const NvsTrainArguments& arguments) {
  if (!arguments.place.initial_model.empty()) return initial_config(arguments);
  const auto config = models::resolve_config(arguments.config, arguments.assignments);
  LACT_CHECK(task_of(config) == models::Task::nvs, "[train] {} is not a view-synthesis model",
             arguments.config);
  return std::get<models::NvsConfig>(config);
}

void settle_nvs_run(const CLI::App& verb, NvsTrainArguments& arguments) {
  check_no_config(verb, arguments.place);
  auto& run = arguments.run;
  const auto given = [&](const char* option) { return verb.get_option(option)->count() > 0; };
  if (!run.scenes.meshes.empty() && !given("--mesh-share")) run.scenes.mesh_share = 1;
  if (!run.photos.photos.empty()) {
    LACT_CHECK(
        run.scenes.meshes.empty() || given("--photo-share"),
        "[train] --photos and --meshes are given: --photo-share says how many of the scenes are photos");
    if (!given("--photo-share")) run.photos.photo_share = 1;
    // The tracer's coordinates mean nothing to a camera file.
    if (!given("--frame")) run.frame = data::FrameChoice::mean_pose;
  }
  run.model = nvs_model_config(arguments);
  run.stages = read_stages(arguments.stages, arguments.stage);
  if (arguments.recipe.file.empty()) return;
  const models::NvsConfig initial = run.model;
  follow_recipe(verb, arguments.recipe, run);
  LACT_CHECK(arguments.place.initial_model.empty() || run.model == initial,
             "[train] the model of --init {} is not the one that the recipe trains",
             arguments.place.initial_model);
}

}  // namespace

void add_nvs_train(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsTrainArguments>();
  auto* verb = task.add_subcommand("train", "Train a view-synthesis model on photos and rendered scenes");
  verb->footer(
      "Example: lact nvs train --steps 20000 -o run\n"
      "         lact nvs train --meshes objects/ --mesh-share 0.5 --init run -o meshes\n"
      "         lact nvs train --photos captures/ --size 72x128 --inputs 4-8 --targets 4 -o photos\n"
      "         lact nvs train --stage steps=8000,size=64,inputs=4 --stage size=128,inputs=8 --steps 10000\n"
      "         lact nvs train --recipe configs/recipes/nvs_scenes.json --photos captures/ --lpips weights/\n"
      "         lact nvs train --init run --set head=gaussians --opacity 0.01 -o gaussians\n"
      "         lact nvs train --config nvs_long_lrm_tiny -o long_lrm\n"
      "         lact nvs train --resume run\n"
      "Without photos, scenes are made up and rendered beside the training, without end. Ctrl-C saves a "
      "checkpoint.\nThe folder holds the model, run.json, metrics.jsonl, TensorBoard events and sheets of "
      "renders in samples/.");
  verb->add_option("-c,--config", arguments->config, "Preset, model folder or config file of the model")
      ->capture_default_str();
  verb->add_option("--set", arguments->assignments,
                   "Change a field of the model: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_place_options(*verb, arguments->place);
  add_recipe_options(*verb, arguments->recipe);
  auto& run = arguments->run;
  add_fields(*verb, run.scenes, "Scenes, all of them meshes if --meshes is given without --mesh-share");
  const std::string photos = "Photos, all scenes if --photos is given without --photo-share";
  add_fields(*verb, run.photos, photos, {"images"}, {{"photo_share", kShare}});
  for (auto* option : verb->get_options())
    if (option->get_group() == photos && option->get_name() != "--photos") option->needs("--photos");
  const char* const views = "Views";
  verb->add_option(
          "--stage", arguments->stages,
          "A stage, such as steps=2000,size=64,inputs=4,targets=4,scenes=4; may be given repeatedly, "
          "what it does not say is as below")
      ->allow_extra_args(false)
      ->group(views);
  const auto number = [&](const char* name, int64_t& value, const char* help, Limits limits = kUsualWhole) {
    add_number(*verb, name, value, help, limits)->capture_default_str()->group(views);
  };
  const auto text = [&](const std::string& name, auto& value, const char* help) {
    verb->add_option_function<std::string>(
            "--" + name,
            [&value, name](const std::string& word) { options::read(options::Json(word), value, name); },
            help)
        ->default_str(value.text())
        ->group(views);
  };
  text("size", arguments->stage.size, "Pixels of the pictures, N (a square) or HxW, whole patches");
  text("inputs", arguments->stage.inputs,
       "Views that are read, such as 8, or 4-8: any number of them, another one for each batch");
  text("targets", arguments->stage.targets, "Other views that are rendered and compared, likewise");
  number("--batch", arguments->stage.scenes, "Scenes of a batch");
  add_number(*verb, "--near", arguments->stage.near,
             "Share of the targets that stand near an input view: easier to learn, for a start", kShare)
      ->capture_default_str()
      ->group(views);
  number("--valid-scenes", run.valid_scenes, "Scenes of a validation; 0 is none");
  add_number(*verb, "--valid-seed", run.valid_seed,
             "Of the scenes of validations, so that runs of several seeds are measured on the same ones; by "
             "default --seed",
             kAny)
      ->group(views);
  number("--render-threads", run.render_threads,
         "Threads that render and decode pictures beside the training", kHelperThreads);
  verb->add_option_function<std::string>(
          "--frame",
          [&run](const std::string& word) { options::read(options::Json(word), run.frame, "frame"); },
          "Coordinates of the scenes for the model: given (rendered objects at the origin, z up), mean_pose "
          "(of the input\nviews, as the authors do for whole scenes) or object (what the views look at is "
          "the "
          "origin)")
      ->default_str("given, with photos mean_pose")
      ->group(views);
  add_fields(*verb, run.loss, "Loss");
  add_fields(*verb, run.training, "Training");
  add_precision_options(*verb, run.precision, run.recompute);
  verb->callback([verb, arguments, &exit_code] {
    exit_code = run_training(*verb, "nvs train", arguments->place, arguments->run,
                             [&] { settle_nvs_run(*verb, *arguments); });
  });
}

}  // namespace lact::cli
