#include "lact/tasks/nvs/training/run.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/models/nvs/folder.h"
#include "lact/train/run_folder.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

/// Both the weights and the order of the scenes follow from the seed.
std::shared_ptr<NvsTask> make_nvs_task(const NvsRun& run, std::shared_ptr<models::NvsModel> model,
                                       const std::string& folder) {
  model->set_compute_type(compute_type(run.precision));
  model->set_recompute(run.recompute);
  NvsTaskOptions options;
  options.stages = run.stages;
  options.accumulate = run.training.accumulate;
  options.valid_scenes = run.valid_scenes;
  options.seed = run.training.seed;
  options.render_threads = int(run.render_threads);
  options.frame = run.frame;
  options.loss = run.loss;
  options.samples = (fs::path(folder) / "samples").string();
  return std::make_shared<NvsTask>(
      std::move(model), std::make_shared<data::SceneSource>(run.scenes, data::ScenePart::kTrain),
      std::make_shared<data::SceneSource>(run.scenes, data::ScenePart::kHoldout), options);
}

}  // namespace

TrainOptions nvs_training() {
  TrainOptions options;
  options.steps = 5000;
  options.rate = 4e-4;
  options.warmup = 200;
  options.adamw.weight_decay = 0.05;
  options.validate_every = 500;
  options.save_every = 500;
  return options;
}

void NvsRun::check() const {
  model.check();
  training.check();
  check_stages(stages, training.steps, model.patch_size);
  LACT_CHECK(valid_scenes >= 0, "[train] valid_scenes is {}, expected 0 or more", valid_scenes);
  LACT_CHECK(render_threads >= 1 && render_threads <= 256, "[train] render_threads is {}, expected 1 to 256",
             render_threads);
  LACT_CHECK(loss.perceptual >= 0, "[train] perceptual is {}, expected 0 or more", loss.perceptual);
}

TrainResult start_run(const NvsRun& given, const RunOptions& where, const std::string& initial_model) {
  NvsRun run = given;
  make_absolute(run.scenes.meshes);
  if (!run.loss.lpips.empty()) run.loss.lpips = fs::absolute(run.loss.lpips).lexically_normal().string();
  run.check();
  check_no_run(where.folder);
  at::manual_seed(uint64_t(run.training.seed));
  const auto model =
      initial_model.empty() ? std::make_shared<models::NvsModel>(run.model) : models::load_nvs(initial_model);
  const auto task = make_nvs_task(run, model, where.folder);
  models::save_nvs_config(where.folder, run.model);
  write_run_file(where.folder, run);
  return train(*task, run.training, where);
}

TrainResult resume_nvs_run(const RunOptions& options) {
  const auto run = read_run_file<NvsRun>(options.folder);
  at::manual_seed(uint64_t(run.training.seed));
  const auto task = make_nvs_task(run, std::make_shared<models::NvsModel>(run.model), options.folder);
  RunOptions resumed = options;
  resumed.resume = true;
  return train(*task, run.training, resumed);
}

std::string plan_text(const NvsRun& run) {
  run.check();
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<10}{}\n", name, value);
  };
  const auto cost = models::cost(run.model, {run.stages[0].inputs, run.stages[0].size});
  line("model", fmt::format("{} parameters, {} blocks of width {}", format_count(cost.total().parameters),
                            run.model.num_layers, run.model.model_dim));
  int64_t left = run.training.steps;
  double work = 0;
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const NvsStage& stage = run.stages[i];
    const int64_t steps = stage.steps > 0 ? stage.steps : left;
    left -= steps;
    const int64_t side = stage.size / run.model.patch_size;
    const auto tokens =
        double(stage.scenes * (stage.inputs + stage.targets) * side * side) * double(run.training.accumulate);
    work += 3 * models::cost(run.model, {stage.inputs, stage.size}).total().flops * tokens * double(steps);
    line(fmt::format("stage {}", i + 1).c_str(),
         fmt::format("{} steps of {} scenes, {} + {} views of {} x {}, {} tokens each", steps,
                     stage.scenes * run.training.accumulate, stage.inputs, stage.targets, stage.size,
                     stage.size, format_count(tokens)));
  }
  line("work", fmt::format("{} operations in all", format_count(work)));
  return text;
}

}  // namespace lact::train
