#include "lact/base/error.h"
#include "lact/base/memory_use.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/outputs.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/video/video.h"
#include "lact/tasks/video/training/codec.h"

namespace lact::cli {

namespace {

enum class VaePreset { small, tiny, wan };
constexpr std::array<std::pair<VaePreset, std::string_view>, 3> enum_names(VaePreset) {
  return {{{VaePreset::small, "small"}, {VaePreset::tiny, "tiny"}, {VaePreset::wan, "wan"}}};
}

struct CodecTrainArguments {
  std::string preset = "small";
  std::vector<std::string> assignments;
  TrainPlace place;
  train::CodecRun run;
};

models::VaeConfig vae_config(const CodecTrainArguments& arguments) {
  VaePreset preset{};
  options::read(options::Json(arguments.preset), preset, "config");
  models::VaeConfig config = preset == VaePreset::small  ? models::vae_small()
                             : preset == VaePreset::tiny ? models::vae_tiny()
                                                         : models::vae_wan();
  for (const auto& assignment : arguments.assignments)
    options::read(options::parse_assignment(assignment), config);
  return config;
}

int run_train_codec(const CLI::App& verb, CodecTrainArguments& arguments) {
  keep_freed_memory();
  const auto options = arguments.place.options();
  if (!arguments.place.resume.empty()) {
    check_resume(verb);
    return finish_training(train::resume_codec_run(options), "video train-codec", options.folder);
  }
  check_clip_fields(verb, arguments.run.clips);
  arguments.run.model = vae_config(arguments);
  return finish_training(train::start_run(arguments.run, options), "video train-codec", options.folder);
}

}  // namespace

void add_video_train_codec(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<CodecTrainArguments>();
  auto* verb =
      task.add_subcommand("train-codec", "Train an autoencoder that turns clips into latents and back");
  verb->footer(
      "Example: lact video train-codec --steps 5000 -o codec\n"
      "         lact video train --codec codec --set in_channels=16 --set out_channels=16 -o run\n"
      "         lact video train-codec --resume codec\n"
      "The folder holds the autoencoder, run.json, metrics.jsonl, TensorBoard events and sheets in "
      "samples/:\n"
      "clips, and below each what is left of it.");
  verb->add_option("-c,--config", arguments->preset, "small, tiny or wan")->capture_default_str();
  verb->add_option("--set", arguments->assignments,
                   "Change a field of the autoencoder: name=value; may be given repeatedly")
      ->allow_extra_args(false);
  verb->add_option("-o,--output", arguments->place.output, "Folder of the run")
      ->check(output_folder())
      ->capture_default_str();
  verb->add_option("--resume", arguments->place.resume, "Go on with the run in this folder, bit for bit");
  add_number(*verb, "--stop-after", arguments->place.stop_after,
             "Stop cleanly after this step, to be resumed", kFromOne);
  auto& run = arguments->run;
  add_fields(*verb, run.size, "Clips");
  add_number(*verb, "--read-threads", run.clips.read_threads,
             "threads that read or make clips beside the training", kHelperThreads)
      ->capture_default_str()
      ->group("Clips");
  add_clip_fields(*verb, run.clips);
  add_fields(*verb, run.loss, "Training");
  add_fields(*verb, run.training, "Training");
  verb->callback([verb, arguments, &exit_code] { exit_code = run_train_codec(*verb, *arguments); });
}

}  // namespace lact::cli
