#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/verbs.h"
#include "lact/cli/video/video.h"
#include "lact/models/presets.h"
#include "lact/models/video/folder.h"
#include "lact/tasks/video/training/run.h"

namespace lact::cli {

namespace {

struct VideoTrainArguments {
  std::string config = "video_tiny";
  std::vector<std::string> assignments, stages;
  TrainPlace place;
  tasks::video::Stage stage;  ///< the only one, unless there are --stage options
  tasks::video::Run run;
};

/// A preset or file, or the model that --init brings, with the fields that --set changes.
models::VideoConfig video_model_config(const CLI::App& verb, const VideoTrainArguments& arguments) {
  if (arguments.place.initial_model.empty()) {
    const auto config = models::resolve_config(arguments.config, arguments.assignments);
    LACT_CHECK(task_of(config) == models::Task::video, "[train] {} is not a video model", arguments.config);
    return std::get<models::VideoConfig>(config);
  }
  check_no_config(verb, arguments.place);
  return changed(models::read_video_config(arguments.place.initial_model), arguments.assignments);
}

void settle_video_run(const CLI::App& verb, VideoTrainArguments& arguments) {
  auto& run = arguments.run;
  check_clip_fields(verb, run.clips);
  run.model = video_model_config(verb, arguments);
  run.stages = read_stages(arguments.stages, arguments.stage);
}

void add_clip_options(CLI::App& verb, VideoTrainArguments& arguments) {
  auto& run = arguments.run;
  const char* const clips = "Clips";
  verb.add_option(
          "--stage", arguments.stages,
          "A stage, such as steps=2000,chunks=4,clips=8; may be given repeatedly, what it does not say "
          "is as below")
      ->allow_extra_args(false)
      ->group(clips);
  const auto number = [&](const char* name, int64_t& value, const char* help, Limits limits = kUsualWhole) {
    add_number(verb, name, value, help, limits)->capture_default_str()->group(clips);
  };
  number("--chunks", arguments.stage.chunks, "Chunks of a clip");
  number("--height", arguments.stage.height, "Height of a clip in pixels; 0: that of the model");
  number("--width", arguments.stage.width, "Width of a clip in pixels; 0: that of the model");
  number("--batch", arguments.stage.clips, "Clips of a batch");
  number("--valid-clips", run.valid_clips, "Clips of a validation; 0 is none");
  number("--read-threads", run.clips.read_threads, "Threads that read or make clips beside the training",
         kHelperThreads);
  add_clip_fields(verb, run.clips);
  verb.add_option("--cache", run.clips.cache,
                  "folder for latents; by default latents/ of the run where the codec is an autoencoder")
      ->group("Clips on the disk");
}

}  // namespace

void add_video_train(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<VideoTrainArguments>();
  auto* verb = task.add_subcommand("train", "Train a video model on clips of files, or on made-up ones");
  verb->footer(
      "Example: lact video train --steps 20000 -o run\n"
      "         lact video train --stage steps=8000,chunks=5 --stage chunks=10,clips=2 --steps 10000\n"
      "         lact video train --set mixer=window -o window\n"
      "         lact video train --init Wan2.1-T2V-1.3B --codec Wan2.1_VAE.pth --text umt5 --clips videos/ "
      "\\\n"
      "           --rate 2e-5 --noise-repeats 2 --precision bf16 --recompute blocks\n"
      "         lact video train --resume run\n"
      "Ctrl-C saves a checkpoint. The folder holds the model, run.json, metrics.jsonl, TensorBoard events "
      "and\n"
      "sheets in samples/: clips, and below each what the model makes of its first chunk.");
  verb->add_option("-c,--config", arguments->config, "Preset, model folder or config file of the model")
      ->capture_default_str();
  verb->add_option("--set", arguments->assignments,
                   "Change a field of the model: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  add_place_options(*verb, arguments->place);
  auto& run = arguments->run;
  verb->add_option("--codec", run.codec, "pixels, or an autoencoder: its folder, or a published file")
      ->capture_default_str();
  verb->add_option(
          "--text", run.text,
          "arguments, the built-in encoder, which is trained too, or the folder of a umT5 encoder with "
          "its tokenizer.model")
      ->capture_default_str();
  add_clip_options(*verb, *arguments);
  add_fields(*verb, run.learning, "Loss", {}, {{"weight_mean", {-100, 100}}});
  add_fields(*verb, run.training, "Training");
  add_precision_options(*verb, run.precision, run.recompute);
  verb->callback([verb, arguments, &exit_code] {
    exit_code = run_training(*verb, "video train", arguments->place, arguments->run,
                             [&] { settle_video_run(*verb, *arguments); });
  });
}

}  // namespace lact::cli
