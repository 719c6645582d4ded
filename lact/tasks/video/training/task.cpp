#include "lact/tasks/video/training/task.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/clips/clip_sheet.h"
#include "lact/io/png.h"
#include "lact/models/video/denoising.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/loss.h"
#include "lact/models/video/weights.h"
#include "lact/models/video/word_encoder.h"
#include "lact/ops/random/gaussian_noise.h"
#include "lact/train/ranges.h"
#include "lact/train/stages.h"

namespace lact::tasks::video {

namespace fs = std::filesystem;

namespace {

/// What a batch number draws, each from a seed of its own.
enum DrawOf : uint64_t { kTimes = 3, kNoise = 4, kDropout = 5, kValidNoise = 6 };
constexpr int64_t kValidClipsAtOnce = 4, kSampleRows = 4, kSampleColumns = 16, kSampleSteps = 8;

/// The model's parameters are model.*, those of the text encoder text.*.
class Learner : public torch::nn::Module {
 public:
  explicit Learner(const VideoParts& parts) {
    register_module("model", parts.model);
    register_module("text", parts.text);
  }
};

uint64_t seed_of_draw(int64_t seed, DrawOf what, int64_t number) {
  return mix(mix(uint64_t(seed), what), uint64_t(number));
}

/// The model with frames of the stage's size, for what is counted.
models::VideoConfig config_of_stage(const VideoParts& parts, const Stage& stage) {
  models::VideoConfig config = parts.model->config();
  const data::ClipShape shape = clip_shape(parts, stage);
  config.latent_height = shape.height / parts.codec->spatial();
  config.latent_width = shape.width / parts.codec->spatial();
  return config;
}

at::Tensor latents_of_frames(const models::VideoCodec& codec, const at::Tensor& frames) {
  at::NoGradGuard no_grad;
  return codec.encode(data::pixels_of_frames(frames).unsqueeze(0)).squeeze(0);
}

}  // namespace

void Learning::check() const {
  train::check_range("noise_repeats", noise_repeats, 1, 2);
  train::check_range("text_dropout", text_dropout, 0, 1);
  train::check_range("new_rate", new_rate, 0, 1e6);
  flow_for(1).check();
}

models::FlowOptions Learning::flow_for(int64_t chunk_tokens) const {
  models::FlowOptions known = flow;
  if (known.shift == 0) known.shift = models::shift_of_chunk(chunk_tokens);
  return known;
}

int64_t clip_frames(const models::VideoConfig& config, const models::VideoCodec& codec, int64_t chunks) {
  return codec.pixel_frames(chunks * config.chunk_frames);
}

data::ClipShape clip_shape(const VideoParts& parts, const Stage& stage) {
  const models::VideoConfig& config = parts.model->config();
  const int64_t factor = parts.codec->spatial();
  return {.frames = clip_frames(config, *parts.codec, stage.chunks),
          .height = stage.height > 0 ? stage.height : config.latent_height * factor,
          .width = stage.width > 0 ? stage.width : config.latent_width * factor};
}

void Stage::check(size_t number) const {
  const auto between = [&](const char* name, int64_t value, int64_t least, int64_t most) {
    train::check_range(fmt::format("stage {}: {}", number, name), value, least, most);
  };
  between("chunks", chunks, 1, 1 << 12);
  between("clips", clips, 1, 1 << 12);
  between("height", height, 0, 1 << 12);
  between("width", width, 0, 1 << 12);
}

void check_stages(const std::vector<Stage>& stages, int64_t steps) {
  train::check_stages_of(stages, steps,
                         [](const Stage& stage, size_t number, const auto&) { stage.check(number); });
}

void check_shapes(const std::vector<Stage>& stages, const VideoParts& parts) {
  const models::VideoConfig& config = parts.model->config();
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].check(i + 1);
    const data::ClipShape shape = clip_shape(parts, stages[i]);
    const int64_t sides[] = {shape.height, shape.width};
    for (size_t side = 0; side < 2; ++side) {
      const int64_t unit = parts.codec->spatial() * config.patch.at(side + 1);
      LACT_CHECK(sides[side] % unit == 0, "[train] stage {}: {} {} does not divide into patches of {} pixels",
                 i + 1, side == 0 ? "height" : "width", sides[side], unit);
    }
  }
}

TrainingTask::TrainingTask(VideoParts parts, const OpenClips& open_clips, const TaskOptions& options)
    : parts_(std::move(parts)), learner_(std::make_shared<Learner>(parts_)), options_(options) {
  options_.learning.check();
  check_shapes(options_.stages, parts_);
  for (const Stage& stage : options_.stages) {
    const data::ClipShape shape = clip_shape(parts_, stage);
    clips_.push_back({open_clips(stage, shape, data::ClipPart::train),
                      options_.valid_clips > 0 ? open_clips(stage, shape, data::ClipPart::valid) : nullptr});
  }
  if (options_.learning.train == TrainedPart::attention)
    for (auto& item : learner_->named_parameters())
      item.value().set_requires_grad(models::is_self_attention_parameter(item.key()));
}

void TrainingTask::set_world(const parallel::World& world) {
  shards_ = world.mesh.shards();
  writes_samples_ = world.all.rank() == 0;
  parts_.model->set_world(world);
}

size_t TrainingTask::stage_number(int64_t batch) const {
  return size_t(&train::stage_of_batch(options_.stages, batch, options_.accumulate) - options_.stages.data());
}

double TrainingTask::rate_factor(const std::string& parameter) const {
  const double factor = options_.learning.new_rate;
  return factor > 0 && models::is_memory_parameter(parameter) ? factor : 1;
}

data::SampleMaker TrainingTask::latents_of(const Clips& source) const {
  const auto codec = parts_.codec;
  const auto encode = [codec](const at::Tensor& frames) { return latents_of_frames(*codec, frames); };
  if (!options_.cache.empty())
    return data::latent_samples(
        source, std::make_shared<data::LatentCache>(options_.cache, codec->fingerprint(), encode));
  return [source, encode](uint64_t index) -> data::ClipSample {
    data::Clip clip = source->clip(index);
    return {encode(clip.frames), std::move(clip.caption)};
  };
}

at::Tensor TrainingTask::loss(int64_t number) {
  const Stage& stage = stage_of(number);
  if (streamed_ != stage_number(number)) {
    streamed_ = stage_number(number);
    stream_ = std::make_unique<data::ClipStream>(latents_of(clips_[*streamed_].train), stage.clips,
                                                 data::StreamOptions{.threads = options_.read_threads});
  }
  data::ClipBatch batch = stream_->take(number);
  last_batch_ = number;
  Random random(seed_of_draw(options_.seed, kDropout, number));
  for (std::string& caption : batch.captions)
    if (random.uniform() < options_.learning.text_dropout) caption.clear();

  const int64_t repeats = options_.learning.noise_repeats;
  std::vector<int64_t> copies = batch.values.sizes().vec();
  copies.insert(copies.begin() + 1, repeats);
  const at::Tensor noise = ops::gaussian_noise(copies, seed_of_draw(options_.seed, kNoise, number));
  const at::Tensor times =
      models::draw_times(stage.clips, repeats, stage.chunks, seed_of_draw(options_.seed, kTimes, number));
  const auto flow = options_.learning.flow_for(config_of_stage(parts_, stage).grid().tokens());
  const auto example = models::teacher_forcing(batch.values, noise, times, flow);
  const at::Tensor answer =
      parts_.model->forward(example.latents, example.timesteps, parts_.text->encode(batch.captions), repeats);
  // Every rank that shares the sequence has all of the answer now, and says its part.
  return models::weighted_velocity_loss(answer, example) / double(shards_);
}

int64_t TrainingTask::tokens_of_batch(int64_t batch) const {
  const Stage& stage = stage_of(batch);
  const int64_t sequence_parts = stage.chunks * (options_.learning.noise_repeats + 1) - 1;
  return stage.clips * sequence_parts * config_of_stage(parts_, stage).grid().tokens();
}

double TrainingTask::flops_of_batch(int64_t batch) const {
  const Stage& stage = stage_of(batch);
  // The backward pass is two products for each one of the forward pass.
  return 3 * models::cost(config_of_stage(parts_, stage), {stage.chunks}).total().flops *
         double(tokens_of_batch(batch));
}

std::map<std::string, double> TrainingTask::validate() {
  if (options_.valid_clips == 0) return {};
  at::NoGradGuard no_grad;
  const Stage& stage = stage_of(last_batch_);
  const data::SampleMaker clips = latents_of(clips_[stage_number(last_batch_)].valid);
  const int64_t at_once = std::min(kValidClipsAtOnce, options_.valid_clips);
  double all = 0, last = 0;
  int64_t seen = 0;
  for (int64_t number = 0; seen < options_.valid_clips; ++number) {
    const data::ClipBatch batch = data::make_clip_batch(clips, at_once, number);
    const at::Tensor text = parts_.text->encode(batch.captions);
    if (number == 0 && !options_.samples.empty()) write_samples(batch, text);
    const at::Tensor noise =
        ops::gaussian_noise(batch.values.sizes(), seed_of_draw(options_.seed, kValidNoise, number));
    for (const double timestep : models::kEvaluationTimesteps) {
      const at::Tensor velocity =
          models::denoise_chunks(*parts_.model, {batch.values, noise, timestep}, text);
      const at::Tensor losses =
          models::velocity_losses(velocity.unsqueeze(1), (noise - batch.values).unsqueeze(1), stage.chunks);
      all += losses.mean().item<double>() * double(at_once);
      last += losses.select(2, stage.chunks - 1).mean().item<double>() * double(at_once);
    }
    seen += at_once;
  }
  const double count = double(seen) * double(std::size(models::kEvaluationTimesteps));
  return {{"loss", all / count}, {"last_chunk_loss", last / count}};
}

/// For each clip the truth, and below it what the model makes of its first chunk and its caption.
void TrainingTask::write_samples(const data::ClipBatch& batch, const at::Tensor& text) {
  const Stage& stage = stage_of(last_batch_);
  const int64_t rows = std::min(kSampleRows, batch.values.size(0));
  const at::Tensor truth = batch.values.narrow(0, 0, rows);
  models::SampleOptions sampling;
  sampling.solver.solver = models::SolverKind::unipc;
  sampling.solver.steps = kSampleSteps;
  sampling.guidance = 1;
  const at::Tensor made =
      models::continue_video(*parts_.model, truth.narrow(2, 0, parts_.model->config().chunk_frames),
                             stage.chunks, sampling, options_.seed, text.narrow(0, 0, rows));
  if (!writes_samples_) return;  // the model's weights may be on loan from all ranks
  const at::Tensor pixels[] = {parts_.codec->decode(truth), parts_.codec->decode(made)};
  std::vector<at::Tensor> clips;
  for (int64_t row = 0; row < rows; ++row)
    for (const at::Tensor& of : pixels) clips.push_back(data::frames_of_pixels(of[row]));
  fs::create_directories(options_.samples);
  const int64_t step = last_batch_ / options_.accumulate + 1;
  io::write_png((fs::path(options_.samples) / fmt::format("step_{:07}.png", step)).string(),
                data::clip_sheet(clips, kSampleColumns));
}

void TrainingTask::export_fixed_parts(const std::string& folder) {
  models::save_video_config(folder, parts_.model->config());
  models::save_codec((fs::path(folder) / "codec").string(), *parts_.codec);
  if (options_.text.empty()) return;
  const std::string link = (fs::path(folder) / "text").string();
  std::error_code error;
  fs::create_directory_symlink(options_.text, link, error);
  LACT_CHECK(!error, "{}: cannot be linked to {}: {}", link, options_.text, error.message());
}

void TrainingTask::export_model(const std::string& folder) {
  models::save_video(folder, *parts_.model);
  if (const auto* words = dynamic_cast<const models::WordEncoder*>(parts_.text.get()))
    models::save_word_encoder((fs::path(folder) / "text").string(), *words);
}

}  // namespace lact::tasks::video
