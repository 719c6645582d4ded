#include "lact/tasks/nvs/training/task.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/base/random.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "lact/models/nvs/folder.h"
#include "lact/nn/patches.h"
#include "lact/ops/losses/losses.h"
#include "lact/train/stages.h"

namespace lact::tasks::nvs {

namespace {

constexpr int64_t kValidScenesAtOnce = 4;

data::BatchShape batch_shape(const Stage& stage, int64_t scenes, int64_t inputs, int64_t targets) {
  return {.scenes = scenes,
          .views = inputs + targets,
          .height = stage.size.height,
          .width = stage.size.width,
          .inputs = inputs};
}

}  // namespace

void check_stages(const std::vector<Stage>& stages, int64_t steps, int64_t patch_size) {
  train::check_stages_of(stages, steps, [&](const Stage& stage, size_t number, const auto& between) {
    for (const int64_t inputs : {stage.inputs.least, stage.inputs.most})
      between("inputs", inputs, 1, 1 << 12);
    for (const int64_t targets : {stage.targets.least, stage.targets.most})
      between("targets", targets, 1, 1 << 12);
    between("scenes", stage.scenes, 1, 1 << 12);
    for (const int64_t side : {stage.size.height, stage.size.width})
      between("size", side, patch_size, 1 << 12);
    between("near", stage.near, 0, 1);
    if (stage.rate) between("rate", *stage.rate, 1e-30, 1000);
    if (stage.warmup) between("warmup", *stage.warmup, 0, train::kMostSteps);
    if (stage.perceptual) between("perceptual", *stage.perceptual, 0, 1e6);
    between("pixels of a batch",
            stage.scenes * (stage.inputs.most + stage.targets.most) * stage.size.height * stage.size.width, 1,
            int64_t(1) << 32);
    LACT_CHECK(stage.size.height % patch_size == 0 && stage.size.width % patch_size == 0,
               "[train] stage {}: size {} does not divide into patches of {} pixels", number,
               stage.size.text(), patch_size);
  });
}

TrainingTask::TrainingTask(std::shared_ptr<models::ViewModel> model,
                           std::shared_ptr<const data::ViewSource> train,
                           std::shared_ptr<const data::ViewSource> valid, const TaskOptions& options)
    : model_(std::move(model)), train_(std::move(train)), valid_(std::move(valid)), options_(options) {
  bool perceptual = options_.loss.perceptual > 0;
  for (const Stage& stage : options_.stages) {
    perceptual = perceptual || stage.perceptual.value_or(0) > 0;
    for (const auto& source : {train_, valid_})
      if (source && source->photos() != nullptr)
        source->photos()->check_counts(stage.inputs.most, stage.targets.most);
  }
  if (perceptual) {
    LACT_CHECK(!options_.loss.lpips.empty(),
               "[train] a perceptual loss needs the folder of its weights: --lpips FOLDER");
    lpips_.emplace(options_.loss.network, options_.loss.lpips);
  }
}

void TrainingTask::set_world(const parallel::World& world) {
  shards_ = world.mesh.shards();
  writes_samples_ = world.all.rank() == 0;
  model_->set_world(world);
}

const Stage& TrainingTask::stage_of(int64_t batch) const {
  return train::stage_of_batch(options_.stages, batch, options_.accumulate);
}

data::BatchShape TrainingTask::shape_of(int64_t batch) const {
  const Stage& stage = stage_of(batch);
  Random random(mix(mix(uint64_t(options_.seed), 3), uint64_t(batch)));
  const int64_t inputs = stage.inputs.draw(random), targets = stage.targets.draw(random);
  data::BatchShape shape = batch_shape(stage, stage.scenes, inputs, targets);
  shape.near = stage.near;
  return shape;
}

double TrainingTask::perceptual_weight(int64_t batch) const {
  const bool begun = lpips_ && batch / options_.accumulate >= options_.loss.perceptual_from;
  return begun ? stage_of(batch).perceptual.value_or(options_.loss.perceptual) : 0;
}

double TrainingTask::rate(const train::RateSchedule& run, int64_t step) const {
  train::RateSchedule own = run;  // of the last stage that names one, up to the next that does
  int64_t begin = 0, end = 0;
  bool passed = false;
  train::for_each_stage(options_.stages, run.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    if (!passed && (number == 1 || stage.rate || stage.warmup)) {
      passed = step < end;
      if (!passed) {
        begin = end;
        own.peak = stage.rate.value_or(run.peak);
        own.warmup = stage.warmup.value_or(run.warmup);
      }
    }
    end += steps;
    if (!passed) own.steps = end - begin;
  });
  return own.at(step - begin);
}

double TrainingTask::share_waited() const {
  if (!first_asked_) return 0;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - *first_asked_;
  const double waited = waited_ + (stream_ ? stream_->seconds_waited() : 0);
  return waited / std::max(1e-9, passed.count());
}

data::SceneBatch TrainingTask::take(int64_t number) {
  const Stage& stage = stage_of(number);
  if (!first_asked_) first_asked_ = std::chrono::steady_clock::now();
  if (streamed_ != &stage) {
    if (stream_) waited_ += stream_->seconds_waited();
    stream_ = std::make_unique<data::SceneStream>(
        data::draw_from(train_), [this](int64_t batch) { return shape_of(batch); },
        mix(uint64_t(options_.seed), 1), data::StreamOptions{.threads = options_.render_threads});
    streamed_ = &stage;
  }
  return stream_->take(number);
}

models::Prediction TrainingTask::predict(const data::SceneBatch& batch) {
  return model_->predict({batch.images.narrow(1, 0, batch.inputs), batch.intrinsics, batch.camera_to_world});
}

at::Tensor TrainingTask::loss(int64_t number) {
  const data::SceneBatch batch = take(number);
  const at::Tensor truth = batch.images.slice(1, batch.inputs);
  const auto [rendered, mean_opacity] = predict(batch);
  const at::Tensor mse = (rendered - truth).square().mean();
  last_batch_ = number;
  last_mse_ = mse.item<double>();
  // Every rank that shares the views has them all now, and says its part.
  const double part = 1 / double(shards_);
  const double weight = perceptual_weight(number);
  at::Tensor loss = mse;
  if (weight > 0) loss = loss + weight * (*lpips_)(rendered.flatten(0, 1), truth.flatten(0, 1)).mean();
  if (options_.loss.opacity > 0) loss = loss + options_.loss.opacity * mean_opacity;
  return loss * part;
}

std::string TrainingTask::loss_text(double loss) const {
  // Alone, the error is the loss of all batches of the step and of all ranks.
  const bool more = perceptual_weight(last_batch_) > 0 || options_.loss.opacity > 0;
  const double mse = more ? last_mse_ : loss;
  const std::string psnr = fmt::format("PSNR {:.2f} dB", -10 * std::log10(std::max(mse, 1e-12)));
  return more ? fmt::format("loss {:.4f}, {}", loss, psnr) : psnr;
}

int64_t TrainingTask::tokens_of_batch(int64_t batch) const {
  const data::BatchShape shape = shape_of(batch);
  const models::NvsConfig& config = model_->config();
  return shape.scenes * config.token_views(shape.inputs, shape.views - shape.inputs) *
         nn::patches_of(shape.height, shape.width, config.patch_size);
}

double TrainingTask::flops_of_batch(int64_t batch) const {
  const data::BatchShape shape = shape_of(batch);
  // The backward pass is two products for each one of the forward pass.
  const auto cost = models::cost(model_->config(), {shape.inputs, {shape.height, shape.width}});
  return 3 * cost.total().flops * double(tokens_of_batch(batch));
}

std::map<std::string, double> TrainingTask::validate() {
  if (options_.valid_scenes == 0 || !valid_) return {};
  at::NoGradGuard no_grad;
  const Stage& stage = present_stage();
  double psnr = 0, ssim = 0;
  for (int64_t first = 0; first < options_.valid_scenes; first += kValidScenesAtOnce) {
    const int64_t scenes = std::min(kValidScenesAtOnce, options_.valid_scenes - first);
    const data::SceneBatch batch = data::draw_batch(
        data::draw_from(valid_), batch_shape(stage, scenes, stage.inputs.most, stage.targets.most),
        mix(uint64_t(options_.valid_seed), 2), first);
    const at::Tensor truth = batch.images.slice(1, batch.inputs);
    const at::Tensor rendered = predict(batch).views.clamp(0, 1);
    if (first == 0) {
      std::vector<std::vector<at::Tensor>> rows;
      for (int64_t scene = 0; scene < scenes; ++scene)
        for (const at::Tensor& views : {truth, rendered}) rows.push_back(views[scene].unbind(0));
      write_samples(rows);
    }
    psnr += ops::psnr(rendered.flatten(0, 1), truth.flatten(0, 1)).mean().item<double>() * double(scenes);
    ssim += ops::ssim_map(rendered.flatten(0, 1), truth.flatten(0, 1)).mean().item<double>() * double(scenes);
  }
  const auto scenes = double(options_.valid_scenes);
  return {{"psnr", psnr / scenes}, {"ssim", ssim / scenes}, {"share_waited_for_pictures", share_waited()}};
}

void TrainingTask::write_samples(const std::vector<std::vector<at::Tensor>>& rows) const {
  if (options_.samples.empty() || !writes_samples_) return;
  std::filesystem::create_directories(options_.samples);
  const int64_t step = last_batch_ / options_.accumulate + 1;
  io::write_png((std::filesystem::path(options_.samples) / fmt::format("step_{:07}.png", step)).string(),
                io::picture_sheet(rows));
}

void TrainingTask::export_fixed_parts(const std::string& folder) {
  models::save_nvs_config(folder, model_->config());
}

void TrainingTask::export_model(const std::string& folder) {
  // The tracer's scenes have the frame of an object as they are.
  const bool rendered = train_->photos() == nullptr;
  const auto frame =
      options_.frame == data::FrameChoice::given && rendered ? data::FrameChoice::object : options_.frame;
  models::save_nvs(folder, *model_, at::kFloat,
                   {.image_size = present_stage().size, .frame = std::string(options::word_of(frame))});
}

}  // namespace lact::tasks::nvs
