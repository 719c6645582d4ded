#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
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
  tasks::nvs::Stage stage;  ///< the only one, unless there are --stage options
  tasks::nvs::Run run;
};

models::NvsConfig nvs_model_config(const NvsTrainArguments& arguments) {
  if (!arguments.place.initial_model.empty())
    return models::load_nvs(arguments.place.initial_model)->config();
  const auto config = models::resolve_config(arguments.config, arguments.assignments);
  LACT_CHECK(task_of(config) == models::Task::nvs, "[train] {} is not a view-synthesis model",
             arguments.config);
  return std::get<models::NvsConfig>(config);
}

void settle_nvs_run(const CLI::App& verb, NvsTrainArguments& arguments) {
  check_initial_model(verb, arguments.place);
  auto& run = arguments.run;
  if (!run.scenes.meshes.empty() && verb.get_option("--mesh-share")->count() == 0) run.scenes.mesh_share = 1;
  run.model = nvs_model_config(arguments);
  run.stages = read_stages(arguments.stages, arguments.stage);
}

}  // namespace

void add_nvs_train(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsTrainArguments>();
  auto* verb = task.add_subcommand("train", "Train a view-synthesis model on rendered scenes");
  verb->footer(
      "Example: lact nvs train --steps 20000 -o run\n"
      "         lact nvs train --meshes objects/ --mesh-share 0.5 --init run -o meshes\n"
      "         lact nvs train --stage steps=8000,size=64,inputs=4 --stage size=128,inputs=8 --steps 10000\n"
      "         lact nvs train --resume run\n"
      "Scenes are made up and rendered beside the training, without end. Ctrl-C saves a checkpoint. The "
      "folder "
      "holds\nthe model, run.json, metrics.jsonl, TensorBoard events and sheets of renders in samples/.");
  verb->add_option("-c,--config", arguments->config, "Preset, model folder or config file of the model")
      ->capture_default_str();
  verb->add_option("--set", arguments->assignments,
                   "Change a field of the model: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_place_options(*verb, arguments->place);
  auto& run = arguments->run;
  add_fields(*verb, run.scenes, "Scenes, all of them meshes if --meshes is given without --mesh-share");
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
  number("--size", arguments->stage.size, "Height and width of the pictures in pixels");
  number("--inputs", arguments->stage.inputs, "Views that are read");
  number("--targets", arguments->stage.targets, "Other views that are rendered and compared");
  number("--batch", arguments->stage.scenes, "Scenes of a batch");
  add_number(*verb, "--near", arguments->stage.near,
             "Share of the targets that stand near an input view: easier to learn, for a start", kShare)
      ->capture_default_str()
      ->group(views);
  number("--valid-scenes", run.valid_scenes, "Scenes of a validation; 0 is none");
  number("--render-threads", run.render_threads, "Threads that render pictures beside the training",
         kHelperThreads);
  verb->add_option_function<std::string>(
          "--frame",
          [&run](const std::string& word) { options::read(options::Json(word), run.frame, "frame"); },
          "Coordinates of the scenes for the model: given (objects at the origin, z up), mean_pose (of the "
          "input views, as\nthe authors do for whole scenes) or object (found from the input views)")
      ->default_str("given")
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
