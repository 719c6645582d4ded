#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/video/video.h"
#include "lact/models/vae/folder.h"
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
  tasks::video::CodecRun run;
};

models::VaeConfig vae_config(const CodecTrainArguments& arguments) {
  if (!arguments.place.initial_model.empty())
    return models::load_vae(arguments.place.initial_model)->config();
  VaePreset preset{};
  options::read(options::Json(arguments.preset), preset, "config");
  models::VaeConfig config = preset == VaePreset::small  ? models::vae_small()
                             : preset == VaePreset::tiny ? models::vae_tiny()
                                                         : models::vae_wan();
  for (const auto& assignment : arguments.assignments)
    options::read(options::parse_assignment(assignment), config);
  return config;
}

void settle_codec_run(const CLI::App& verb, CodecTrainArguments& arguments) {
  check_initial_model(verb, arguments.place);
  check_clip_fields(verb, arguments.run.clips);
  arguments.run.model = vae_config(arguments);
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
  add_place_options(*verb, arguments->place);
  auto& run = arguments->run;
  add_fields(*verb, run.size, "Clips");
  add_number(*verb, "--read-threads", run.clips.read_threads,
             "threads that read or make clips beside the training", kHelperThreads)
      ->capture_default_str()
      ->group("Clips");
  add_clip_fields(*verb, run.clips);
  add_fields(*verb, run.loss, "Training");
  add_fields(*verb, run.training, "Training");
  verb->callback([verb, arguments, &exit_code] {
    exit_code = run_training(*verb, "video train-codec", arguments->place, arguments->run,
                             [&] { settle_codec_run(*verb, *arguments); });
  });
}

}  // namespace lact::cli
