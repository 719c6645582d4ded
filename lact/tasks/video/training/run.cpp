#include "lact/tasks/video/training/run.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/data/clips/story_clips.h"
#include "lact/models/common/config_file.h"
#include "lact/models/video/folder.h"
#include "lact/ops/dispatch/device.h"
#include "lact/train/memory_needed.h"
#include "lact/train/ranges.h"
#include "lact/train/stages.h"

namespace lact::tasks::video {

namespace fs = std::filesystem;

namespace {

const char* const kBuiltInText = "words";
const char* const kBuiltInCodec = "pixels";
constexpr double kRateOfNewMemory = 10;

std::string part_folder(const std::string& folder, const char* part) {
  return (fs::path(folder) / part).string();
}

models::WordEncoderConfig words_for(const Run& run) {
  models::WordEncoderConfig words = run.words;
  words.text_dim = run.model.text_dim;
  words.text_length = run.model.text_length;
  return words;
}

std::shared_ptr<models::TextEncoder> text_by_name(const Run& run) {
  if (run.text != kBuiltInText) return load_text_encoder(run.text, run.model.text_length);
  return std::make_shared<models::WordEncoder>(words_for(run));
}

/// The parts to begin with. What the initial model brings is used unless the run names another.
VideoParts make_parts(Run& run, const std::string& initial) {
  VideoParts parts;
  const auto brings = [&](const char* part) {
    return !initial.empty() && fs::is_directory(part_folder(initial, part));
  };
  if (run.codec == kBuiltInCodec && brings("codec"))
    run.codec = fs::absolute(part_folder(initial, "codec")).string();
  parts.codec = codec_by_name(run.codec, run.model);
  at::manual_seed(uint64_t(run.training.seed));
  parts.model = initial.empty() ? std::make_shared<models::VideoModel>(run.model)
                                : models::load_video_as(run.model, initial);
  parts.model->to(ops::compute_device());
  if (run.text == kBuiltInText && brings("text")) {
    parts.text = load_text_encoder(part_folder(initial, "text"), run.model.text_length);
    if (const auto* words = dynamic_cast<const models::WordEncoder*>(parts.text.get())) {
      run.words = words->config();
    } else {
      run.text = fs::absolute(part_folder(initial, "text")).string();
    }
  } else {
    parts.text = text_by_name(run);
  }
  check_video_parts(parts, "[train] this run");
  return parts;
}

}  // namespace

train::TrainOptions default_training() {
  train::TrainOptions options;
  options.steps = 5000;
  options.rate = 1e-3;
  options.rate_decay = train::RateDecay::linear;
  options.rate_floor = 0;
  options.warmup = 100;
  options.adamw.weight_decay = 0.01;
  options.ema = 0.995;
  options.validate_every = 500;
  options.save_every = 250;
  return options;
}

void ClipsOptions::check() const {
  files.check();
  stories.check_contents();
  train::check_range("read_threads", read_threads, 1, 256);
}

std::shared_ptr<const data::ClipSource> open_clips(const ClipsOptions& options, const VideoParts& parts,
                                                   int64_t chunks, const data::ClipShape& shape, int64_t seed,
                                                   data::ClipPart part) {
  options.check();
  if (!options.files.paths.empty())
    return std::make_shared<data::FileClips>(options.files, shape, uint64_t(seed), part);
  data::StoryOptions stories = options.stories;
  stories.chunks = chunks;
  stories.chunk_frames = parts.model->config().chunk_frames * parts.codec->temporal();
  stories.first_chunk_short = parts.codec->temporal() - 1;
  stories.height = shape.height;
  stories.width = shape.width;
  return std::make_shared<data::StoryClips>(stories, uint64_t(seed), part);
}

options::Json Run::in_todays_words(options::Json run) {
  if (run.is_object() && run.contains("model")) run["model"] = models::in_todays_words(run["model"]);
  return run;
}

void Run::check() const {
  model.check();
  training.check();
  learning.check();
  clips.check();
  check_stages(stages, training.steps);
  words_for(*this).check();
  train::check_range("valid_clips", valid_clips, 0, 1 << 20);
  LACT_CHECK(!codec.empty() && !text.empty(), "[train] codec and text cannot be empty");
}

void Run::make_paths_absolute() {
  train::make_absolute(clips.files.paths);
  train::make_absolute(clips.cache);
  train::make_absolute(codec, kBuiltInCodec);
  train::make_absolute(text, kBuiltInText);
}

void Run::use_copies_in(const std::string& folder) { codec = part_folder(folder, "codec"); }

std::shared_ptr<train::Task> Run::make_task(const std::string& folder, const std::string& initial) {
  if (initial.empty()) {
    const auto all = double(models::cost(model).total().parameters);
    train::check_memory_to_train({all, learning.train == TrainedPart::all ? all : 0}, training);
  }
  const VideoParts parts = make_parts(*this, initial);
  if (learning.new_rate == 0)
    learning.new_rate = !initial.empty() && has_new_memory(*parts.model) ? kRateOfNewMemory : 1;
  const bool takes_time = dynamic_cast<const models::PixelCodec*>(parts.codec.get()) == nullptr;
  if (clips.cache.empty() && !clips.files.paths.empty() && takes_time) {
    clips.cache = part_folder(folder, "latents");
    train::make_absolute(clips.cache);
  }
  precision = ops::announced(precision);
  parts.model->set_compute_type(ops::compute_type(precision));
  parts.model->set_recompute(recompute);
  TaskOptions options;
  options.stages = stages;
  options.learning = learning;
  options.accumulate = training.accumulate;
  options.valid_clips = valid_clips;
  options.seed = training.seed;
  options.read_threads = int(clips.read_threads);
  if (text != kBuiltInText) options.text = text;
  options.cache = clips.cache;
  options.samples = part_folder(folder, "samples");
  return std::make_shared<TrainingTask>(
      parts,
      [clips = clips, parts, seed = training.seed](const Stage& stage, const data::ClipShape& shape,
                                                   data::ClipPart part) {
        return open_clips(clips, parts, stage.chunks, shape, seed, part);
      },
      options);
}

train::Plan Run::plan() const {
  const auto pixels = codec_by_name(codec, model);
  models::VideoConfig config = model;
  train::Plan plan;
  plan.parameters = double(models::cost(config).total().parameters);
  plan.shape = fmt::format("{} blocks of width {}", config.num_layers, config.model_dim);
  train::for_each_stage(stages, training.steps, [&](const Stage& stage, size_t number, int64_t steps) {
    if (stage.height > 0) config.latent_height = stage.height / pixels->spatial();
    if (stage.width > 0) config.latent_width = stage.width / pixels->spatial();
    config.check();
    const int64_t sequence_parts = stage.chunks * (learning.noise_repeats + 1) - 1;
    const double tokens =
        double(stage.clips * sequence_parts * config.grid().tokens()) * double(training.accumulate);
    plan.work += 3 * models::cost(config, {stage.chunks}).total().flops * tokens * double(steps);
    plan.add(fmt::format("stage {}", number),
             fmt::format("{} steps of {} clips, {} chunks of {} frames of {} x {} pixels, {} tokens each",
                         steps, stage.clips * training.accumulate, stage.chunks,
                         config.chunk_frames * pixels->temporal(), config.latent_height * pixels->spatial(),
                         config.latent_width * pixels->spatial(), format_count(tokens)));
  });
  return plan;
}

}  // namespace lact::tasks::video
