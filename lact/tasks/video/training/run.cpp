#include "lact/tasks/video/training/run.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/format.h"
#include "lact/base/random.h"
#include "lact/data/clips/story_clips.h"
#include "lact/models/video/folder.h"
#include "lact/train/run_folder.h"

namespace lact::train {

namespace fs = std::filesystem;

namespace {

const char* const kBuiltInText = "words";
constexpr double kRateOfNewMemory = 10;

std::string part_folder(const std::string& folder, const char* part) {
  return (fs::path(folder) / part).string();
}

/// Only for names of folders and files, not for the words that stand for what is built in.
void make_name_absolute(std::string& name, const char* built_in) {
  if (!name.empty() && name != built_in) name = fs::absolute(name).lexically_normal().string();
}

models::WordEncoderConfig words_for(const VideoRun& run) {
  models::WordEncoderConfig words = run.words;
  words.text_dim = run.model.text_dim;
  words.text_length = run.model.text_length;
  return words;
}

std::shared_ptr<models::TextEncoder> text_by_name(const VideoRun& run) {
  if (run.text != kBuiltInText) return load_text_encoder(run.text, run.model.text_length);
  return std::make_shared<models::WordEncoder>(words_for(run));
}

/// The parts to begin with. What the initial model brings is used unless the run names another.
VideoParts first_parts(VideoRun& run, const std::string& initial_model) {
  VideoParts parts;
  const auto brings = [&](const char* part) {
    return !initial_model.empty() && fs::is_directory(part_folder(initial_model, part));
  };
  if (run.codec == "pixels" && brings("codec"))
    run.codec = fs::absolute(part_folder(initial_model, "codec")).string();
  parts.codec = codec_by_name(run.codec, run.model);
  at::manual_seed(uint64_t(run.training.seed));
  parts.model = initial_model.empty() ? std::make_shared<models::VideoModel>(run.model)
                                      : models::load_video_as(run.model, initial_model);
  if (run.text == kBuiltInText && brings("text")) {
    parts.text = load_text_encoder(part_folder(initial_model, "text"), run.model.text_length);
    if (const auto* words = dynamic_cast<const models::WordEncoder*>(parts.text.get())) {
      run.words = words->config();
    } else {
      run.text = fs::absolute(part_folder(initial_model, "text")).string();
    }
  } else {
    parts.text = text_by_name(run);
  }
  check_video_parts(parts, "[train] this run");
  return parts;
}

std::shared_ptr<VideoTask> make_video_task(const VideoRun& run, const VideoParts& parts,
                                           const std::string& folder) {
  parts.model->set_compute_type(compute_type(run.precision));
  parts.model->set_recompute(run.recompute);
  VideoTaskOptions options;
  options.stages = run.stages;
  options.learning = run.learning;
  options.accumulate = run.training.accumulate;
  options.valid_clips = run.valid_clips;
  options.seed = run.training.seed;
  options.read_threads = int(run.clips.read_threads);
  options.cache = run.clips.cache;
  options.samples = part_folder(folder, "samples");
  const auto clips = run.clips;
  const int64_t seed = run.training.seed;
  return std::make_shared<VideoTask>(
      parts,
      [clips, parts, seed](const VideoStage& stage, const data::ClipShape& shape, data::ClipPart part) {
        return open_clips(clips, parts, stage.chunks, shape, seed, part);
      },
      options);
}

/// What does not change in training: the codec, and umT5, which is too large for a copy.
void save_fixed_parts(const VideoRun& run, const VideoParts& parts, const std::string& folder) {
  models::save_codec(part_folder(folder, "codec"), *parts.codec);
  if (run.text == kBuiltInText) return;
  std::error_code error;
  fs::create_directory_symlink(run.text, part_folder(folder, "text"), error);
  LACT_CHECK(!error, "{}: cannot be linked to {}: {}", part_folder(folder, "text"), run.text,
             error.message());
}

}  // namespace

TrainOptions video_training() {
  TrainOptions options;
  options.steps = 5000;
  options.rate = 1e-3;
  options.warmup = 100;
  options.adamw.weight_decay = 0.01;
  options.ema = 0.995;
  options.validate_every = 500;
  options.save_every = 250;
  return options;
}

void VideoRun::check() const {
  model.check();
  training.check();
  learning.check();
  check_stages(stages, training.steps);
  words_for(*this).check();
  LACT_CHECK(valid_clips >= 0, "[train] valid_clips is {}, expected 0 or more", valid_clips);
  LACT_CHECK(clips.read_threads >= 1 && clips.read_threads <= 256,
             "[train] read_threads is {}, expected 1 to 256", clips.read_threads);
  LACT_CHECK(!codec.empty() && !text.empty(), "[train] codec and text cannot be empty");
}

std::shared_ptr<const data::ClipSource> open_clips(const VideoClipsOptions& options, const VideoParts& parts,
                                                   int64_t chunks, const data::ClipShape& shape, int64_t seed,
                                                   data::ClipPart part) {
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

TrainResult start_run(const VideoRun& given, const RunOptions& where, const std::string& initial_model) {
  VideoRun run = given;
  make_absolute(run.clips.files.paths);
  make_name_absolute(run.codec, "pixels");
  make_name_absolute(run.text, kBuiltInText);
  make_name_absolute(run.clips.cache, "");
  run.check();
  check_no_run(where.folder);
  const VideoParts parts = first_parts(run, initial_model);
  if (run.learning.new_rate == 0)
    run.learning.new_rate = !initial_model.empty() && has_new_memory(*parts.model) ? kRateOfNewMemory : 1;
  const bool takes_time = dynamic_cast<const models::PixelCodec*>(parts.codec.get()) == nullptr;
  if (run.clips.cache.empty() && !run.clips.files.paths.empty() && takes_time)
    run.clips.cache = fs::absolute(part_folder(where.folder, "latents")).lexically_normal().string();
  const auto task = make_video_task(run, parts, where.folder);
  models::save_video_config(where.folder, run.model);
  save_fixed_parts(run, parts, where.folder);
  write_run_file(where.folder, run);
  return train(*task, run.training, where);
}

TrainResult resume_video_run(const RunOptions& options) {
  const auto run = read_run_file<VideoRun>(options.folder);
  VideoParts parts;
  parts.codec = models::load_codec(part_folder(options.folder, "codec"));
  at::manual_seed(uint64_t(run.training.seed));
  parts.model = std::make_shared<models::VideoModel>(run.model);
  parts.text = text_by_name(run);
  check_video_parts(parts, options.folder);
  const auto task = make_video_task(run, parts, options.folder);
  RunOptions resumed = options;
  resumed.resume = true;
  return train(*task, run.training, resumed);
}

std::string plan_text(const VideoRun& run) {
  run.check();
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += fmt::format("{:<10}{}\n", name, value);
  };
  const auto codec = codec_by_name(run.codec, run.model);
  models::VideoConfig config = run.model;
  line("model", fmt::format("{} parameters, {} blocks of width {}",
                            format_count(models::cost(config).total().parameters), config.num_layers,
                            config.model_dim));
  int64_t left = run.training.steps;
  double work = 0;
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const VideoStage& stage = run.stages[i];
    const int64_t steps = stage.steps > 0 ? stage.steps : left;
    left -= steps;
    if (stage.height > 0) config.latent_height = stage.height / codec->spatial();
    if (stage.width > 0) config.latent_width = stage.width / codec->spatial();
    config.check();
    const int64_t sequence_parts = stage.chunks * (run.learning.noise_repeats + 1) - 1;
    const double tokens =
        double(stage.clips * run.training.accumulate * sequence_parts * config.grid().tokens());
    work += 3 * models::cost(config, {stage.chunks}).total().flops * tokens * double(steps);
    line(fmt::format("stage {}", i + 1),
         fmt::format("{} steps of {} clips, {} chunks of {} frames of {} x {} pixels, {} tokens each", steps,
                     stage.clips * run.training.accumulate, stage.chunks,
                     config.chunk_frames * codec->temporal(), config.latent_height * codec->spatial(),
                     config.latent_width * codec->spatial(), format_count(tokens)));
  }
  line("work", fmt::format("{} operations in all", format_count(work)));
  return text;
}

}  // namespace lact::train
