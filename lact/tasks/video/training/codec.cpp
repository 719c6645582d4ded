#include "lact/tasks/video/training/codec.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/random.h"
#include "lact/data/clips/clip_sheet.h"
#include "lact/data/clips/story_clips.h"
#include "lact/io/png.h"
#include "lact/models/vae/folder.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/losses/losses.h"
#include "lact/train/ranges.h"

namespace lact::tasks::video {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kCodecClipsAtOnce = 4, kCodecSheetColumns = 17;

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The chunks of a story are no matter for a codec: as many as let things leave and come back.
std::shared_ptr<const data::ClipSource> open_codec_clips(const CodecRun& run, data::ClipPart part) {
  const data::ClipShape shape = {run.size.frames, run.size.height, run.size.width};
  if (!run.clips.files.paths.empty())
    return std::make_shared<data::FileClips>(run.clips.files, shape, uint64_t(run.training.seed), part);
  data::StoryOptions stories = run.clips.stories;
  stories.chunk_frames = quotient_up(run.size.frames, stories.gap_max + 2);
  stories.chunks = quotient_up(run.size.frames, stories.chunk_frames);
  stories.first_chunk_short = stories.chunks * stories.chunk_frames - run.size.frames;
  stories.height = run.size.height;
  stories.width = run.size.width;
  return std::make_shared<data::StoryClips>(stories, uint64_t(run.training.seed), part);
}

}  // namespace

CodecTask::CodecTask(std::shared_ptr<models::Vae> model, std::shared_ptr<const data::ClipSource> train,
                     std::shared_ptr<const data::ClipSource> valid, const CodecClips& clips,
                     const models::VaeLossOptions& loss, int64_t seed, int read_threads, std::string samples)
    : model_(std::move(model)),
      valid_(std::move(valid)),
      clips_(clips),
      loss_(loss),
      seed_(seed),
      samples_(std::move(samples)),
      stream_(data::frame_samples(std::move(train)), clips.batch, {.threads = read_threads}) {}

at::Tensor CodecTask::loss(int64_t number) {
  last_batch_ = number;
  const at::Tensor pixels = data::pixels_of_frames(stream_.take(number).values);
  const auto generator = at::detail::createCPUGenerator(mix(uint64_t(seed_), uint64_t(number)));
  return models::vae_loss(*model_, pixels, loss_, generator).total;
}

at::Tensor CodecTask::valid_pixels(int64_t first, int64_t count) const {
  std::vector<at::Tensor> all;
  for (int64_t i = first; i < first + count; ++i)
    all.push_back(data::pixels_of_frames(valid_->clip(uint64_t(i)).frames));
  return at::stack(all);
}

std::map<std::string, double> CodecTask::validate() {
  at::NoGradGuard no_grad;
  double psnr = 0;
  for (int64_t first = 0; first < clips_.valid; first += kCodecClipsAtOnce) {
    const int64_t count = std::min(kCodecClipsAtOnce, clips_.valid - first);
    const at::Tensor pixels = valid_pixels(first, count);
    const at::Tensor decoded = model_->decode(model_->encode(pixels).mean).clamp(-1, 1);
    if (first == 0 && !samples_.empty()) write_samples(pixels, decoded);
    const auto pictures = [](const at::Tensor& clips) {
      return (clips.transpose(1, 2).flatten(0, 1) + 1) / 2;
    };
    psnr += ops::psnr(pictures(decoded), pictures(pixels)).mean().item<double>() * double(count);
  }
  return {{"psnr", psnr / double(clips_.valid)}};
}

void CodecTask::write_samples(const at::Tensor& pixels, const at::Tensor& decoded) const {
  std::vector<at::Tensor> rows;
  for (int64_t clip = 0; clip < pixels.size(0); ++clip)
    for (const at::Tensor& of : {pixels, decoded}) rows.push_back(data::frames_of_pixels(of[clip]));
  fs::create_directories(samples_);
  io::write_png((fs::path(samples_) / fmt::format("step_{:07}.png", last_batch_ + 1)).string(),
                data::clip_sheet(rows, kCodecSheetColumns));
}

void CodecTask::export_model(const std::string& folder) {
  at::NoGradGuard no_grad;
  models::LatentStatistics statistics;
  for (int64_t first = 0; first < clips_.valid; first += kCodecClipsAtOnce)
    statistics.add(
        model_->encode(valid_pixels(first, std::min(kCodecClipsAtOnce, clips_.valid - first))).mean);
  model_->set_latent_scale(statistics.mean(), statistics.std());
  models::save_vae(folder, *model_);
}

void CodecClips::check(const models::VaeConfig& config) const {
  train::check_range("batch", batch, 1, 1 << 12);
  train::check_range("valid", valid, 1, 1 << 16);
  train::check_range("frames", frames, 1, 1 << 16);
  LACT_CHECK((frames - 1) % config.temporal() == 0,
             "[train] frames is {}, expected 1 and a multiple of the {} frames of a latent frame", frames,
             config.temporal());
  for (const auto& [name, side] : {std::pair("height", height), std::pair("width", width)}) {
    train::check_range(name, side, 1, 1 << 12);
    LACT_CHECK(side % config.spatial() == 0, "[train] {} is {}, expected a multiple of {}", name, side,
               config.spatial());
  }
}

int64_t CodecClips::tokens(const models::VaeConfig& config) const {
  const int64_t latent_frames = 1 + (frames - 1) / config.temporal();
  return batch * latent_frames * (height / config.spatial()) * (width / config.spatial());
}

double CodecClips::flops(const models::VaeConfig& config) const {
  // A kernel of 3 x 3 x 3 at every pixel of every resolution, of which each has an eighth or a quarter of the
  // pixels before it; encoder and decoder; forward and backward.
  double pixels = double(batch * frames) * double(height * width), work = 0;
  for (const int64_t channels : config.channels()) {
    work += 2 * 27 * double(channels * channels) * pixels * double(4 * config.residual_blocks + 2);
    pixels /= 4;
  }
  return 3 * work;
}

train::TrainOptions codec_training() {
  train::TrainOptions options = default_training();
  options.rate_decay = train::RateDecay::cosine;
  options.rate_floor = 0.1;
  return options;
}

void CodecRun::check() const {
  model.check();
  training.check();
  clips.check();
  size.check(model);
  train::check_range("kl_weight", loss.kl_weight, 0, 1e6);
  LACT_CHECK(training.accumulate == 1, "[train] accumulate is {}, expected 1: make the batch larger",
             training.accumulate);
}

void CodecRun::make_paths_absolute() { train::make_absolute(clips.files.paths); }

std::shared_ptr<train::Task> CodecRun::make_task(const std::string& folder, const std::string& initial) {
  at::manual_seed(uint64_t(training.seed));
  const auto made = initial.empty() ? std::make_shared<models::Vae>(model) : models::load_vae(initial);
  model = made->config();
  made->to(ops::compute_device());
  return std::make_shared<CodecTask>(
      made, open_codec_clips(*this, data::ClipPart::train), open_codec_clips(*this, data::ClipPart::valid),
      size, loss, training.seed, int(clips.read_threads), (fs::path(folder) / "samples").string());
}

train::Plan CodecRun::plan() const {
  train::Plan plan;
  for (const at::Tensor& parameter : models::Vae(model).parameters())
    plan.parameters += double(parameter.numel());
  plan.shape = fmt::format("latents of {} channels", model.latent_channels);
  plan.add("step", fmt::format("{} clips of {} frames of {} x {} pixels, {} tokens", size.batch, size.frames,
                               size.height, size.width, format_count(double(size.tokens(model)))));
  plan.add("run", fmt::format("{} steps", training.steps));
  plan.work = size.flops(model) * double(training.steps);
  return plan;
}

}  // namespace lact::tasks::video
