#include "lact/tasks/nvs/training/task.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/base/random.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "lact/models/nvs/folder.h"
#include "lact/ops/images/rays.h"
#include "lact/ops/losses/losses.h"
#include "lact/train/stages.h"

namespace lact::tasks::nvs {

namespace {

constexpr int64_t kValidScenesAtOnce = 4;

data::BatchShape batch_shape(const Stage& stage, int64_t scenes) {
  return {.scenes = scenes,
          .views = stage.inputs + stage.targets,
          .height = stage.size,
          .width = stage.size,
          .inputs = stage.inputs};
}

data::BatchShape training_shape(const Stage& stage) {
  data::BatchShape shape = batch_shape(stage, stage.scenes);
  shape.near = stage.near;
  return shape;
}

data::SceneMaker maker_of(const std::shared_ptr<const data::SceneSource>& source) {
  return [source](uint64_t seed) { return source->scene(seed); };
}

data::Camera camera_of(const float* intrinsics, const float* pose) {
  data::Camera camera;
  camera.fx = intrinsics[0], camera.fy = intrinsics[1], camera.cx = intrinsics[2], camera.cy = intrinsics[3];
  for (size_t i = 0; i < 16; ++i) camera.camera_to_world[i / 4][i % 4] = pose[i];
  return camera;
}

}  // namespace

void check_stages(const std::vector<Stage>& stages, int64_t steps, int64_t patch_size) {
  train::check_stages_of(stages, steps, [&](const Stage& stage, size_t number, const auto& between) {
    between("inputs", stage.inputs, 1, 1 << 12);
    between("targets", stage.targets, 1, 1 << 12);
    between("scenes", stage.scenes, 1, 1 << 12);
    between("size", stage.size, patch_size, 1 << 12);
    between("near", stage.near, 0, 1);
    between("pixels of a batch", stage.scenes * (stage.inputs + stage.targets) * stage.size * stage.size, 1,
            int64_t(1) << 32);
    LACT_CHECK(stage.size % patch_size == 0,
               "[train] stage {}: size {} does not divide into patches of {} pixels", number, stage.size,
               patch_size);
  });
}

void to_frames(data::SceneBatch& batch, int64_t inputs, data::FrameChoice choice) {
  if (choice == data::FrameChoice::given) return;
  const int64_t scenes = batch.intrinsics.size(0), views = batch.intrinsics.size(1);
  batch.camera_to_world = batch.camera_to_world.clone();
  const float* intrinsics = batch.intrinsics.data_ptr<float>();
  float* poses = batch.camera_to_world.data_ptr<float>();
  for (int64_t scene = 0; scene < scenes; ++scene) {
    std::vector<data::Camera> cameras;
    for (int64_t view = 0; view < views; ++view) {
      const int64_t at = scene * views + view;
      cameras.push_back(camera_of(intrinsics + at * 4, poses + at * 16));
    }
    const auto frame =
        data::scene_frame({cameras.begin(), cameras.begin() + static_cast<std::ptrdiff_t>(inputs)}, choice);
    const at::Tensor moved = data::camera_to_world_of(data::to_scene(frame, cameras));
    batch.camera_to_world[scene].copy_(moved);
  }
}

TrainingTask::TrainingTask(std::shared_ptr<models::NvsModel> model,
                           std::shared_ptr<const data::SceneSource> train,
                           std::shared_ptr<const data::SceneSource> valid, const TaskOptions& options)
    : model_(std::move(model)), train_(std::move(train)), valid_(std::move(valid)), options_(options) {
  if (options_.loss.perceptual > 0) {
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

bool TrainingTask::is_perceptual(int64_t batch) const {
  return lpips_ && batch / options_.accumulate >= options_.loss.perceptual_from;
}

data::SceneBatch TrainingTask::take(int64_t number) {
  const Stage& stage = stage_of(number);
  if (streamed_ != &stage) {
    if (stream_) waited_ += stream_->seconds_waited();
    stream_ = std::make_unique<data::SceneStream>(maker_of(train_), training_shape(stage),
                                                  mix(uint64_t(options_.seed), 1),
                                                  data::StreamOptions{.threads = options_.render_threads});
    streamed_ = &stage;
  }
  data::SceneBatch batch = stream_->take(number);
  to_frames(batch, stage.inputs, options_.frame);
  return batch;
}

at::Tensor TrainingTask::predict(const data::SceneBatch& batch, const Stage& stage) {
  const at::Tensor rays = ops::plucker_rays(batch.intrinsics, batch.camera_to_world, stage.size, stage.size);
  return model_->forward(batch.images.narrow(1, 0, stage.inputs), rays.narrow(1, 0, stage.inputs),
                         rays.narrow(1, stage.inputs, stage.targets));
}

at::Tensor TrainingTask::loss(int64_t number) {
  const Stage& stage = stage_of(number);
  const data::SceneBatch batch = take(number);
  const at::Tensor truth = batch.images.narrow(1, stage.inputs, stage.targets);
  const at::Tensor rendered = predict(batch, stage);
  const at::Tensor mse = (rendered - truth).square().mean();
  last_batch_ = number;
  last_mse_ = mse.item<double>();
  // Every rank that shares the views has them all now, and says its part.
  const double part = 1 / double(shards_);
  if (!is_perceptual(number)) return mse * part;
  const at::Tensor perceptual = (*lpips_)(rendered.flatten(0, 1), truth.flatten(0, 1)).mean();
  return (mse + options_.loss.perceptual * perceptual) * part;
}

std::string TrainingTask::loss_text(double loss) const {
  const std::string psnr = fmt::format("PSNR {:.2f} dB", -10 * std::log10(std::max(last_mse_, 1e-12)));
  return is_perceptual(last_batch_) ? fmt::format("loss {:.4f}, {}", loss, psnr) : psnr;
}

int64_t TrainingTask::tokens_of_batch(int64_t batch) const {
  const Stage& stage = stage_of(batch);
  const int64_t side = stage.size / model_->config().patch_size;
  return stage.scenes * (stage.inputs + stage.targets) * side * side;
}

double TrainingTask::flops_of_batch(int64_t batch) const {
  const Stage& stage = stage_of(batch);
  // The backward pass is two products for each one of the forward pass.
  const auto cost = models::cost(model_->config(), {stage.inputs, stage.size});
  return 3 * cost.total().flops * double(tokens_of_batch(batch));
}

std::map<std::string, double> TrainingTask::validate() {
  if (options_.valid_scenes == 0) return {};
  at::NoGradGuard no_grad;
  const Stage& stage = stage_of(last_batch_);
  double psnr = 0, ssim = 0;
  for (int64_t first = 0; first < options_.valid_scenes; first += kValidScenesAtOnce) {
    const int64_t scenes = std::min(kValidScenesAtOnce, options_.valid_scenes - first);
    data::SceneBatch batch = data::render_batch(maker_of(valid_), batch_shape(stage, scenes),
                                                mix(uint64_t(options_.seed), 2), first);
    to_frames(batch, stage.inputs, options_.frame);
    const at::Tensor truth = batch.images.narrow(1, stage.inputs, stage.targets);
    const at::Tensor rendered = predict(batch, stage);
    if (first == 0 && !options_.samples.empty() && writes_samples_) write_samples(truth, rendered);
    psnr += ops::psnr(rendered.flatten(0, 1), truth.flatten(0, 1)).mean().item<double>() * double(scenes);
    ssim += ops::ssim_map(rendered.flatten(0, 1), truth.flatten(0, 1)).mean().item<double>() * double(scenes);
  }
  const auto scenes = double(options_.valid_scenes);
  const double waited = waited_ + (stream_ ? stream_->seconds_waited() : 0);
  return {{"psnr", psnr / scenes}, {"ssim", ssim / scenes}, {"seconds_waited_for_pictures", waited}};
}

void TrainingTask::write_samples(const at::Tensor& truth, const at::Tensor& rendered) const {
  std::vector<std::vector<at::Tensor>> rows;
  for (int64_t scene = 0; scene < truth.size(0); ++scene) {
    for (const at::Tensor& views : {truth, rendered}) {
      auto& row = rows.emplace_back();
      for (int64_t view = 0; view < views.size(1); ++view) row.push_back(views[scene][view]);
    }
  }
  std::filesystem::create_directories(options_.samples);
  const int64_t step = last_batch_ / options_.accumulate + 1;
  io::write_png((std::filesystem::path(options_.samples) / fmt::format("step_{:07}.png", step)).string(),
                io::picture_sheet(rows));
}

void TrainingTask::export_fixed_parts(const std::string& folder) {
  models::save_nvs_config(folder, model_->config());
}

void TrainingTask::export_model(const std::string& folder) {
  const int64_t size = stage_of(last_batch_).size;
  // The tracer's scenes have the frame of an object as they are.
  const auto frame = options_.frame == data::FrameChoice::given ? data::FrameChoice::object : options_.frame;
  models::save_nvs(folder, *model_, at::kFloat,
                   {.image_size = io::ImageSize{size, size}, .frame = std::string(options::word_of(frame))});
}

}  // namespace lact::tasks::nvs
