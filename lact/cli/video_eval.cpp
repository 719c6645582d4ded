// `lact video eval`: several video models side by side, chunk by chunk.
#include "lact/cli/video_eval.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/video.h"
#include "lact/data/clips/clip_sheet.h"
#include "lact/io/png.h"
#include "lact/train/tasks/video_run.h"

namespace lact::cli {

namespace {

constexpr int64_t kSheetColumns = 24;

struct VideoEvalWords {
  std::vector<std::string> models;
  std::string precision = "f32", output;
  train::VideoClipsOptions clips;
  train::VideoStage size;  ///< of the clips
  eval::DenoisingOptions options;
  models::SampleOptions sampling;
  int64_t continued = 2, given = 3;
  bool json = false;
};

/// Losses can be compared only if they are about the same latents in the same chunks.
void check_comparable(const LoadedVideo& one, const LoadedVideo& first) {
  LACT_CHECK(one.codec->fingerprint() == first.codec->fingerprint(),
             "[eval] {} and {} have different codecs, so that their losses cannot be compared", one.path,
             first.path);
  LACT_CHECK(one.model->config().chunk_frames == first.model->config().chunk_frames,
             "[eval] {} has chunks of {} latent frames, but {} of {}", one.path,
             one.model->config().chunk_frames, first.path, first.model->config().chunk_frames);
}

std::vector<LoadedVideo> load_videos(const VideoEvalWords& words, VideoEvaluation& result) {
  auto folders = named_folders(words.models);
  if (folders.empty()) folders.push_back({"shipped weights", ""});
  std::vector<LoadedVideo> videos;
  for (const auto& [name, folder] : folders) {
    LoadedVideo video = load_video_model({folder, words.precision});
    if (!videos.empty()) check_comparable(video, videos.front());
    int64_t parameters = 0;
    for (const auto& weight : video.model->parameters()) parameters += weight.numel();
    result.models.push_back(
        {name, video.path, std::string(options::word_of(video.model->config().mixer)), parameters});
    videos.push_back(std::move(video));
  }
  return videos;
}

/// The truth, and below it what each model makes of the given chunks and the caption.
void continue_clips(const VideoEvalWords& words, const std::vector<LoadedVideo>& videos,
                    const data::ClipSource& clips, VideoEvaluation& result) {
  at::NoGradGuard no_grad;
  const auto& codec = *videos.front().codec;
  const int64_t given_frames = words.given * videos.front().model->config().chunk_frames;
  for (int64_t index = 0; index < words.continued; ++index) {
    const data::Clip clip = clips.clip(uint64_t(index));
    const at::Tensor latents = codec.encode(data::pixels_of_frames(clip.frames).unsqueeze(0));
    std::vector<at::Tensor> rows = {clip.frames};
    for (const LoadedVideo& video : videos) {
      const at::Tensor negative = words.sampling.guided() ? video.text->encode({""}) : at::Tensor();
      const at::Tensor made = models::continue_video(*video.model, latents.narrow(2, 0, given_frames),
                                                     words.size.chunks, words.sampling, words.options.seed,
                                                     video.text->encode({clip.caption}), negative);
      rows.push_back(data::frames_of_pixels(codec.decode(made)[0]));
    }
    const at::Tensor image = data::clip_sheet(rows, kSheetColumns);
    const std::string file = fmt::format("continued_{:02}.png", index + 1);
    io::write_png((std::filesystem::path(words.output) / file).string(), image);
    result.continued.push_back({clip.caption, file, image});
  }
}

void run_video_eval(const CLI::App& verb, const VideoEvalWords& words) {
  check_clip_fields(verb, words.clips);
  words.options.check();
  words.sampling.check();
  LACT_CHECK(words.continued == 0 || words.output.empty() || words.given < words.size.chunks,
             "[eval] --given is {}, expected less than the {} chunks of a clip", words.given,
             words.size.chunks);
  VideoEvaluation result;
  result.options = words.options;
  result.chunks = words.size.chunks;
  result.given = words.given;
  result.clips =
      words.clips.files.paths.empty()
          ? fmt::format("made up, {} chunks", words.size.chunks)
          : fmt::format("{}, {} chunks", fmt::join(words.clips.files.paths, ", "), words.size.chunks);
  const auto videos = load_videos(words, result);
  train::check_shapes({words.size}, videos.front());
  const auto clips = train::open_clips(words.clips, videos.front(), words.size.chunks,
                                       train::clip_shape(videos.front(), words.size), words.options.seed,
                                       data::ClipPart::valid);
  if (!words.output.empty()) create_output_folder(words.output);
  for (size_t i = 0; i < videos.size(); ++i) {
    const std::string& name = result.models[i].name;
    Progress progress(name, words.options.clips);
    result.scores.push_back(
        eval::denoising_score({name, eval::denoiser_of(videos[i].model, videos[i].text)}, *clips,
                              *videos[i].codec, videos[i].model->config().chunk_frames, words.options,
                              [&](int64_t done, int64_t) { progress.update(done, "clips"); }));
  }
  if (!words.output.empty()) continue_clips(words, videos, *clips, result);
  const Evaluation shown = show(result);
  if (!words.output.empty()) {
    write_evaluation(shown, words.output, "denoising");
    const std::string report = (std::filesystem::path(words.output) / "report.html").string();
    write_video_report(result, report);
    log::info("wrote {} and {} sheets of continued clips", report, result.continued.size());
  }
  print_evaluation(shown, words.json);
}

}  // namespace

void add_video_eval(CLI::App& task) {
  const auto words = std::make_shared<VideoEvalWords>();
  words->size.chunks = 8;
  words->sampling.solver.steps = 20;
  words->sampling.guidance = 1;
  auto* verb = task.add_subcommand(
      "eval", "Denoising loss against the chunk's number, and how well things that come back are remembered");
  verb->footer(
      "Example: lact video eval --model lact=run --model window=window --model full=full --chunks 12 -o out\n"
      "         lact video eval --model run --clips videos/ -o out\n"
      "Clips are those that training keeps for validation. The folder gets figures (JSON), plots (SVG), a "
      "page\n"
      "(HTML) and sheets of clips that the models go on with.");
  verb->add_option("-m,--model", words->models,
                   "Model folder, or NAME=FOLDER; may be given repeatedly. By default the weights that come "
                   "with lact")
      ->allow_extra_args(false);
  verb->add_option("--precision", words->precision, "f32 or bf16")->capture_default_str();
  verb->add_option("-o,--output", words->output, "Folder for plots, figures, sheets and a page");
  verb->add_flag("--json", words->json, "Print for a program to read");
  const auto number = [&](const char* name, int64_t& value, const char* help) {
    return verb->add_option(name, value, help)->capture_default_str();
  };
  number("--chunks", words->size.chunks, "Chunks of a clip")->check(CLI::Range(1, 100'000));
  number("--height", words->size.height, "Height of a clip in pixels; 0: that of the first model");
  number("--width", words->size.width, "Width of a clip in pixels; 0: that of the first model");
  number("--count", words->options.clips, "Clips that are looked at");
  number("--batch", words->options.batch, "Clips at the same time");
  number("--seed", words->options.seed, "Seed of clips and noise");
  verb->add_option("--timesteps", words->options.timesteps, "Noise levels, above 0 and up to 1000")
      ->delimiter(',')
      ->capture_default_str();
  number("--continued", words->continued, "Clips that the models go on with, as sheets in the output folder")
      ->check(CLI::Range(0, 1000));
  number("--given", words->given, "Chunks of these that the models are given")->check(CLI::Range(1, 100'000));
  add_clip_fields(*verb, words->clips);
  add_fields(*verb, words->sampling, "Sampling of continued clips");
  verb->callback([verb, words] { run_video_eval(*verb, *words); });
}

}  // namespace lact::cli
