#include "lact/tasks/nvs/training/run.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/format.h"
#include "lact/models/nvs/folder.h"
#include "lact/ops/dispatch/device.h"
#include "lact/train/memory_needed.h"
#include "lact/train/ranges.h"
#include "lact/train/stages.h"

namespace lact::tasks::nvs {

train::TrainOptions default_training() {
  train::TrainOptions options;
  options.steps = 5000;
  options.rate = 4e-4;
  options.warmup = 200;
  options.adamw.weight_decay = 0.05;
  options.validate_every = 500;
  options.save_every = 500;
  return options;
}

void Run::check() const {
  model.check();
  training.check();
  check_stages(stages, training.steps, model.patch_size);
  train::check_range("valid_scenes", valid_scenes, 0, 1 << 20);
  train::check_range("render_threads", render_threads, 1, 256);
  train::check_range("perceptual", loss.perceptual, 0, 1e6);
  train::check_range("perceptual_from", loss.perceptual_from, 0, train::kMostSteps);
  LACT_CHECK(loss.perceptual_from == 0 || loss.perceptual > 0,
             "[train] perceptual_from is {}, but there is no perceptual loss: give it a weight by "
             "--perceptual",
             loss.perceptual_from);
  int64_t end = 0;
  train::for_each_stage(stages, training.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    end += steps;
    const bool perceptual = loss.perceptual > 0 && end > loss.perceptual_from;
    LACT_CHECK(!perceptual || stage.size >= models::kLpipsSmallestSide,
               "[train] stage {}: a perceptual loss is for pictures of at least {} pixels, but size is {}",
               number, models::kLpipsSmallestSide, stage.size);
  });
}

void Run::make_paths_absolute() {
  train::make_absolute(scenes.meshes);
  train::make_absolute(loss.lpips);
}

/// Both the weights and the order of the scenes follow from the seed.
std::shared_ptr<train::Task> Run::make_task(const std::string& folder, const std::string& initial) {
  if (initial.empty()) {
    const auto parameters = double(models::cost(model).total().parameters);
    train::check_memory_to_train({parameters, parameters}, training);
  }
  at::manual_seed(uint64_t(training.seed));
  const auto made = initial.empty() ? std::make_shared<models::NvsModel>(model) : models::load_nvs(initial);
  model = made->config();
  precision = ops::announced(precision);
  made->set_compute_type(ops::compute_type(precision));
  made->set_recompute(recompute);
  made->to(ops::compute_device());
  TaskOptions options;
  options.stages = stages;
  options.accumulate = training.accumulate;
  options.valid_scenes = valid_scenes;
  options.seed = training.seed;
  options.render_threads = int(render_threads);
  options.frame = frame;
  options.loss = loss;
  options.samples = (std::filesystem::path(folder) / "samples").string();
  return std::make_shared<TrainingTask>(
      made, std::make_shared<data::SceneSource>(scenes, data::ScenePart::kTrain),
      std::make_shared<data::SceneSource>(scenes, data::ScenePart::kHoldout), options);
}

train::Plan Run::plan() const {
  train::Plan plan;
  plan.parameters = double(models::cost(model, {stages[0].inputs, stages[0].size}).total().parameters);
  plan.shape = fmt::format("{} blocks of width {}", model.num_layers, model.model_dim);
  train::for_each_stage(stages, training.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    const int64_t side = stage.size / model.patch_size;
    const auto tokens =
        double(stage.scenes * (stage.inputs + stage.targets) * side * side) * double(training.accumulate);
    plan.work += 3 * models::cost(model, {stage.inputs, stage.size}).total().flops * tokens * double(steps);
    plan.add(fmt::format("stage {}", number),
             fmt::format("{} steps of {} scenes, {} + {} views of {} x {}, {} tokens each", steps,
                         stage.scenes * training.accumulate, stage.inputs, stage.targets, stage.size,
                         stage.size, format_count(tokens)));
  });
  return plan;
}

}  // namespace lact::tasks::nvs
