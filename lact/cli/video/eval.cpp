// `lact video eval`: several video models side by side, chunk by chunk.
#include "lact/cli/video/eval.h"

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/video/video.h"
#include "lact/data/clips/clip_sheet.h"
#include "lact/io/png.h"
#include "lact/tasks/video/training/run.h"

namespace lact::cli {

namespace {

constexpr int64_t kSheetColumns = 24;

struct VideoEvalArguments {
  std::vector<std::string> models;
  std::string output;
  tasks::video::LoadOptions load;
  tasks::video::ClipsOptions clips;
  tasks::video::Stage size;  ///< of the clips
  tasks::video::DenoisingOptions options;
  models::SampleOptions sampling;
  int64_t continued = 2, given = 3;
  bool json = false;
};

/// Losses can be compared only if they are about the same latents in the same chunks.
void check_comparable(const tasks::video::Loaded& one, const tasks::video::Loaded& first) {
  LACT_CHECK(one.codec->fingerprint() == first.codec->fingerprint(),
             "[eval] {} and {} have different codecs, so that their losses cannot be compared", one.path,
             first.path);
  LACT_CHECK(one.model->config().chunk_frames == first.model->config().chunk_frames,
             "[eval] {} has chunks of {} latent frames, but {} of {}", one.path,
             one.model->config().chunk_frames, first.path, first.model->config().chunk_frames);
}

std::vector<tasks::video::Loaded> load_videos(const VideoEvalArguments& arguments, VideoEvaluation& result) {
  auto folders = named_folders(arguments.models);
  if (folders.empty()) folders.push_back({"shipped weights", ""});
  std::vector<tasks::video::Loaded> videos;
  for (const auto& [name, folder] : folders) {
    tasks::video::Loaded video = tasks::video::load(folder, arguments.load);
    if (!videos.empty()) check_comparable(video, videos.front());
    int64_t parameters = 0;
    for (const auto& weight : video.model->parameters()) parameters += weight.numel();
    result.models.push_back({name, video.path, video.model->config().mixer.text(), parameters});
    videos.push_back(std::move(video));
  }
  return videos;
}

/// The truth, and below it what each model makes of the given chunks and the caption.
void continue_clips(const VideoEvalArguments& arguments, const std::vector<tasks::video::Loaded>& videos,
                    const data::ClipSource& clips, VideoEvaluation& result) {
  at::NoGradGuard no_grad;
  const auto& codec = *videos.front().codec;
  const int64_t given_frames = arguments.given * videos.front().model->config().chunk_frames;
  for (int64_t index = 0; index < arguments.continued; ++index) {
    const data::Clip clip = clips.clip(uint64_t(index));
    const at::Tensor latents = codec.encode(data::pixels_of_frames(clip.frames).unsqueeze(0));
    std::vector<at::Tensor> rows = {clip.frames};
    for (const tasks::video::Loaded& video : videos) {
      const at::Tensor negative = arguments.sampling.guided() ? video.text->encode({""}) : at::Tensor();
      const at::Tensor made = models::continue_video(
          *video.model, latents.narrow(2, 0, given_frames), arguments.size.chunks, arguments.sampling,
          arguments.options.seed, video.text->encode({clip.caption}), negative);
      rows.push_back(data::frames_of_pixels(codec.decode(made)[0]));
    }
    const at::Tensor image = data::clip_sheet(rows, kSheetColumns);
    const std::string file = fmt::format("continued_{:02}.png", index + 1);
    io::write_png((std::filesystem::path(arguments.output) / file).string(), image);
    result.continued.push_back({clip.caption, file, image});
  }
}

void run_video_eval(const CLI::App& verb, const VideoEvalArguments& arguments) {
  check_clip_fields(verb, arguments.clips);
  arguments.options.check();
  arguments.sampling.check();
  LACT_CHECK(arguments.continued == 0 || arguments.output.empty() || arguments.given < arguments.size.chunks,
             "[eval] --given is {}, expected less than the {} chunks of a clip", arguments.given,
             arguments.size.chunks);
  VideoEvaluation result;
  result.options = arguments.options;
  result.chunks = arguments.size.chunks;
  result.given = arguments.given;
  result.clips =
      arguments.clips.files.paths.empty()
          ? fmt::format("made up, {} chunks", arguments.size.chunks)
          : fmt::format("{}, {} chunks", fmt::join(arguments.clips.files.paths, ", "), arguments.size.chunks);
  const auto videos = load_videos(arguments, result);
  tasks::video::check_shapes({arguments.size}, videos.front());
  const auto clips = tasks::video::open_clips(arguments.clips, videos.front(), arguments.size.chunks,
                                              tasks::video::clip_shape(videos.front(), arguments.size),
                                              arguments.options.seed, data::ClipPart::valid);
  if (!arguments.output.empty()) create_output_folder(arguments.output);
  for (size_t i = 0; i < videos.size(); ++i) {
    const std::string& name = result.models[i].name;
    Progress progress(name, arguments.options.clips);
    result.scores.push_back(tasks::video::denoising_score(
        {name, tasks::video::denoiser_of(videos[i].model, videos[i].text)}, *clips, *videos[i].codec,
        videos[i].model->config().chunk_frames, arguments.options,
        [&](int64_t done, int64_t) { progress.update(done, "clips"); }));
  }
  if (!arguments.output.empty()) continue_clips(arguments, videos, *clips, result);
  const Evaluation shown = show(result);
  if (!arguments.output.empty()) {
    write_evaluation(shown, arguments.output, "denoising");
    const std::string report = (std::filesystem::path(arguments.output) / "report.html").string();
    write_video_report(result, report);
    log::info("wrote {} and {} sheets of continued clips", report, result.continued.size());
  }
  print_evaluation(shown, arguments.json);
}

}  // namespace

void add_video_eval(CLI::App& task) {
  const auto arguments = std::make_shared<VideoEvalArguments>();
  arguments->size.chunks = 8;
  arguments->sampling.solver.steps = 20;
  arguments->sampling.guidance = 1;
  auto* verb = task.add_subcommand(
      "eval", "Denoising loss against the chunk's number, and how well things that come back are remembered");
  verb->footer(
      "Example: lact video eval --model lact=run --model window=window --model full=full --chunks 12 -o out\n"
      "         lact video eval --model run --clips videos/ -o out\n"
      "Clips are those that training keeps for validation. The folder gets figures (JSON), plots (SVG), a "
      "page\n"
      "(HTML) and sheets of clips that the models go on with.");
  verb->add_option("-m,--model", arguments->models,
                   "Model folder, or NAME=FOLDER; may be given repeatedly. By default the weights that come "
                   "with lact")
      ->allow_extra_args(false);
  add_fields(*verb, arguments->load);
  verb->add_option("-o,--output", arguments->output, "Folder for plots, figures, sheets and a page")
      ->check(output_folder());
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  const auto number = [&](const char* name, int64_t& value, const char* help, Limits limits = kUsualWhole) {
    add_number(*verb, name, value, help, limits)->capture_default_str();
  };
  number("--chunks", arguments->size.chunks, "Chunks of a clip", Limits{1, 100'000});
  number("--height", arguments->size.height, "Height of a clip in pixels; 0: that of the first model");
  number("--width", arguments->size.width, "Width of a clip in pixels; 0: that of the first model");
  number("--count", arguments->options.clips, "Clips that are looked at");
  number("--batch", arguments->options.batch, "Clips at the same time");
  number("--seed", arguments->options.seed, "Seed of clips and noise", kAny);
  add_number(*verb, "--timesteps", arguments->options.timesteps, "Noise levels, above 0 and up to 1000",
             Limits{1e-6, 1000})
      ->delimiter(',')
      ->capture_default_str();
  number("--continued", arguments->continued,
         "Clips that the models go on with, as sheets in the output folder", Limits{0, 1000});
  number("--given", arguments->given, "Chunks of these that the models are given", Limits{1, 100'000});
  add_clip_fields(*verb, arguments->clips);
  add_fields(*verb, arguments->sampling, "Sampling of continued clips");
  verb->callback([verb, arguments] { run_video_eval(*verb, *arguments); });
}

}  // namespace lact::cli
