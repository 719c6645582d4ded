#include "lact/tasks/nvs/training/run.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/models/nvs/folder.h"
#include "lact/nn/patches.h"
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
  check_stages(stages, training.steps, model.decoded_patch());
  train::check_range("valid_scenes", valid_scenes, 0, 1 << 20);
  train::check_range("render_threads", render_threads, 1, 256);
  train::check_range("perceptual", loss.perceptual, 0, 1e6);
  train::check_range("perceptual_from", loss.perceptual_from, 0, train::kMostSteps);
  train::check_range("opacity", loss.opacity, 0, 1e6);
  LACT_CHECK(loss.opacity == 0 || model.has_gaussians(),
             "[train] opacity is {}, but it is of Gaussians, and the model's head is {}", loss.opacity,
             options::word_of(model.head));
  photos.check();
  bool any_perceptual = false;
  int64_t end = 0;
  train::for_each_stage(stages, training.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    end += steps;
    LACT_CHECK(training.minutes == 0 || !(stage.rate || stage.warmup),
               "[train] a stage has a rate or warm-up of its own, but with minutes the rate falls with the "
               "clock");
    LACT_CHECK(stage.near == 0 || photos.photo_share < 1,
               "[train] near is {}, but it is for rendered scenes, and all scenes are photos", stage.near);
    const bool perceptual = stage.perceptual.value_or(loss.perceptual) > 0;
    any_perceptual = any_perceptual || perceptual;
    LACT_CHECK(!perceptual || end <= loss.perceptual_from ||
                   std::min(stage.size.height, stage.size.width) >= models::kLpipsSmallestSide,
               "[train] stage {}: a perceptual loss is for pictures of at least {} pixels, but size is {}",
               number, models::kLpipsSmallestSide, stage.size.text());
  });
  LACT_CHECK(loss.perceptual_from == 0 || any_perceptual,
             "[train] perceptual_from is {}, but there is no perceptual loss: give it a weight by "
             "--perceptual",
             loss.perceptual_from);
}

void Run::make_paths_absolute() {
  train::make_absolute(scenes.meshes);
  train::make_absolute(photos.photos);
  train::make_absolute(photos.reading.images);
  train::make_absolute(loss.lpips);
}

/// The model `initial` with what is wanted of it besides.
std::shared_ptr<models::ViewModel> begin_with(const std::string& initial, const models::NvsConfig& wanted) {
  const models::BegunModel made = models::load_nvs_as(wanted, initial);
  if (made.fresh_decoder)
    log::info("{}: all weights but the decoder's, whose {} numbers per token are new", initial,
              wanted.output_channels());
  return made.model;
}

/// Both the weights and the order of the scenes follow from the seed.
std::shared_ptr<models::ViewModel> Run::make_model(const std::string& initial) {
  if (initial.empty()) {
    const auto parameters = double(models::cost(model).total().parameters);
    train::check_memory_to_train({parameters, parameters}, training);
  }
  at::manual_seed(uint64_t(training.seed));
  const auto made = initial.empty() ? models::make_view_model(model) : begin_with(initial, model);
  model = made->config();
  precision = ops::announced(precision);
  made->set_compute_type(ops::compute_type(precision));
  made->set_recompute(recompute);
  made->to(ops::compute_device());
  return made;
}

TaskOptions Run::task_options(const std::string& folder) const {
  TaskOptions options;
  options.stages = stages;
  options.accumulate = training.accumulate;
  options.valid_scenes = valid_scenes;
  options.seed = training.seed;
  options.valid_seed = valid_seed.value_or(training.seed);
  options.render_threads = int(render_threads);
  options.frame = frame;
  options.loss = loss;
  options.samples = (std::filesystem::path(folder) / "samples").string();
  return options;
}

std::shared_ptr<const data::ViewSource> Run::source(data::ScenePart part) const {
  return std::make_shared<const data::ViewSource>(scenes, photos, frame, part);
}

std::shared_ptr<train::Task> Run::make_task(const std::string& folder, const std::string& initial) {
  const auto made = make_model(initial);
  return std::make_shared<TrainingTask>(made, source(data::ScenePart::kTrain),
                                        valid_scenes > 0 ? source(data::ScenePart::kHoldout) : nullptr,
                                        task_options(folder));
}

train::Plan Run::plan() const {
  train::Plan plan;
  const auto views_of = [](const Stage& stage) { return models::ViewSet{stage.inputs.most, stage.size}; };
  plan.parameters = double(models::cost(model, views_of(stages[0])).total().parameters);
  plan.shape = fmt::format("{} blocks of width {}", model.num_layers, model.model_dim);
  train::for_each_stage(stages, training.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    const double views = double(model.token_views(stage.inputs.least, stage.targets.least) +
                                model.token_views(stage.inputs.most, stage.targets.most)) /
                         2;
    const double tokens = double(stage.scenes) * views * double(training.accumulate) *
                          double(nn::patches_of(stage.size.height, stage.size.width, model.patch_size));
    plan.work += 3 * models::cost(model, views_of(stage)).total().flops * tokens * double(steps);
    plan.add(fmt::format("stage {}", number),
             fmt::format("{} steps of {} scenes, {} + {} views of {} x {}, {} tokens each", steps,
                         stage.scenes * training.accumulate, stage.inputs.text(), stage.targets.text(),
                         stage.size.height, stage.size.width, format_count(tokens)));
  });
  return plan;
}

}  // namespace lact::tasks::nvs
