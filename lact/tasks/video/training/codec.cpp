#include "lact/tasks/video/training/codec.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/clips/clip_sheet.h"
#include "lact/data/clips/story_clips.h"
#include "lact/io/png.h"
#include "lact/models/vae/folder.h"
#include "lact/ops/losses/losses.h"
#include "lact/train/run_folder.h"

namespace lact::train {

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

std::shared_ptr<CodecTask> make_codec_task(const CodecRun& run, const std::string& folder) {
  at::manual_seed(uint64_t(run.training.seed));
  return std::make_shared<CodecTask>(
      std::make_shared<models::Vae>(run.model), open_codec_clips(run, data::ClipPart::train),
      open_codec_clips(run, data::ClipPart::valid), run.size, run.loss, run.training.seed,
      int(run.clips.read_threads), (fs::path(folder) / "samples").string());
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

int64_t CodecTask::tokens_of_batch(int64_t /*batch*/) const {
  const models::VaeConfig& config = model_->config();
  const int64_t latent_frames = 1 + (clips_.frames - 1) / config.temporal();
  return clips_.batch * latent_frames * (clips_.height / config.spatial()) *
         (clips_.width / config.spatial());
}

double CodecTask::flops_of_batch(int64_t /*batch*/) const {
  // A kernel of 3 x 3 x 3 at every pixel of every resolution, of which each has an eighth or a quarter of the
  // pixels before it; encoder and decoder; forward and backward.
  const models::VaeConfig& config = model_->config();
  double pixels = double(clips_.batch * clips_.frames * clips_.height * clips_.width), work = 0;
  for (const int64_t channels : config.channels()) {
    work += 2 * 27 * double(channels * channels) * pixels * double(4 * config.residual_blocks + 2);
    pixels /= 4;
  }
  return 3 * work;
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

void CodecRun::check() const {
  model.check();
  training.check();
  const auto between = [](const char* name, int64_t value, int64_t least, int64_t most) {
    LACT_CHECK(value >= least && value <= most, "[train] {} is {}, expected {} to {}", name, value, least,
               most);
  };
  between("batch", size.batch, 1, 1 << 12);
  between("valid", size.valid, 1, 1 << 16);
  between("frames", size.frames, 1, 1 << 16);
  between("read_threads", clips.read_threads, 1, 256);
  LACT_CHECK((size.frames - 1) % model.temporal() == 0,
             "[train] frames is {}, expected 1 and a multiple of the {} frames of a latent frame",
             size.frames, model.temporal());
  for (const auto& [name, side] : {std::pair("height", size.height), std::pair("width", size.width)})
    LACT_CHECK(side > 0 && side % model.spatial() == 0, "[train] {} is {}, expected a multiple of {}", name,
               side, model.spatial());
  LACT_CHECK(loss.kl_weight >= 0, "[train] kl_weight is {}, expected 0 or more", loss.kl_weight);
  LACT_CHECK(training.accumulate == 1, "[train] accumulate is {}, expected 1: make the batch larger",
             training.accumulate);
}

TrainResult start_run(const CodecRun& given, const RunOptions& where) {
  CodecRun run = given;
  make_absolute(run.clips.files.paths);
  run.check();
  check_no_run(where.folder);
  const auto task = make_codec_task(run, where.folder);
  fs::create_directories(where.folder);
  write_run_file(where.folder, run);
  return train(*task, run.training, where);
}

TrainResult resume_codec_run(const RunOptions& options) {
  const auto run = read_run_file<CodecRun>(options.folder);
  RunOptions resumed = options;
  resumed.resume = true;
  return train(*make_codec_task(run, options.folder), run.training, resumed);
}

}  // namespace lact::train
