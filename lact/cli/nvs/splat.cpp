// `lact nvs splat`: Gaussians optimised for the photos of one capture.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/cli/train_verb.h"
#include "lact/cli/verbs.h"
#include "lact/io/gaussian_ply.h"
#include "lact/tasks/nvs/fitting/run.h"
#include "lact/tasks/nvs/splatting/results.h"

namespace lact::cli {

namespace {

struct NvsSplatArguments {
  std::string output, resume, size;
  std::vector<std::string> settings;
  int64_t longer_side = 320, stop_after = 0;
  bool json = false;
  tasks::nvs::SplatRun run;
};

void settle_nvs_splat(NvsSplatArguments& arguments) {
  auto& run = arguments.run;
  LACT_CHECK(!run.photos.empty(), "[splat] PHOTOS are missing: a folder with a camera file, or the file");
  LACT_CHECK(!arguments.output.empty(), "[splat] -o is missing: the .ply to make");
  LACT_CHECK(io::has_ply_name(arguments.output), "[splat] -o is {}, expected a name that ends in .ply",
             arguments.output);
  for (const std::string& setting : arguments.settings)
    options::read(options::parse_assignment(setting), run.splats, "splats");
  const auto size = arguments.size.empty()
                        ? tasks::nvs::size_for_photos(run.capture(), arguments.longer_side, 1)
                        : parse_view_size(arguments.size, "--size");
  run.height = size.height;
  run.width = size.width;
  run.check();
}

void show_splats(const NvsSplatArguments& arguments, const std::string& ply,
                 const tasks::nvs::SplatResult& result, const tasks::nvs::SplatFiles& files) {
  if (!arguments.json) {
    std::cout << fmt::format(
        "{}: {} Gaussians, PSNR {:.2f} dB, SSIM {:.3f} on {} of {} photos that were held out; {} steps in "
        "{:.1f} minutes\n",
        ply, result.gaussians, result.scores.psnr, result.scores.ssim, result.held_out, result.photos,
        result.steps, result.seconds / 60);
    for (const auto& file : {files.video, files.sheet, files.curve}) std::cout << fmt::format("  {}\n", file);
    return;
  }
  const nlohmann::ordered_json json = {{"ply", ply},
                                       {"gaussians", result.gaussians},
                                       {"psnr", result.scores.psnr},
                                       {"ssim", result.scores.ssim},
                                       {"photos", result.photos},
                                       {"held_out", result.held_out},
                                       {"steps", result.steps},
                                       {"minutes", result.seconds / 60},
                                       {"video", files.video},
                                       {"sheet", files.sheet},
                                       {"curve", files.curve}};
  std::cout << json.dump(2) << "\n";
}

int run_nvs_splat(const CLI::App& verb, NvsSplatArguments& arguments) {
  keep_freed_memory();
  tasks::nvs::SplatPlace place;
  place.resume = !arguments.resume.empty();
  place.ply = place.resume ? arguments.resume : arguments.output;
  place.stop_after = arguments.stop_after;
  if (place.resume) {
    for (const auto* option : verb.get_options()) {
      const std::string name = option->get_name();
      const bool goes = name == "--resume" || name == "--stop-after" || name == "--json";
      LACT_CHECK(goes || option->count() == 0,
                 "[splat] --resume goes on with the options of the run; {} cannot be changed", name);
    }
    arguments.run = tasks::nvs::read_splat_run(place.ply);
  } else {
    settle_nvs_splat(arguments);
  }
  const auto result = tasks::nvs::optimise_splats(arguments.run, place);
  if (!result.finished) {
    log::info("stopped after step {}; go on with: lact nvs splat --resume {}", result.steps, place.ply);
    return kExitInterrupted;
  }
  std::optional<Progress> bar;
  const auto on_frame = [&](int64_t done, int64_t total) {
    if (!bar) bar.emplace("video", total);
    bar->update(done, "");
  };
  const auto files = tasks::nvs::write_splat_files(arguments.run, place.ply, on_frame);
  bar.reset();
  show_splats(arguments, place.ply, result, files);
  return 0;
}

}  // namespace

void add_nvs_splat(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsSplatArguments>();
  auto* verb = task.add_subcommand("splat", "Optimise Gaussians for the photos of one capture");
  verb->footer(
      "Example: lact nvs splat photos/ -o scene.ply --minutes 10\n"
      "         lact nvs view scene.ply\n"
      "         lact nvs splat --resume scene.ply\n"
      "Every eighth photo is never trained on; PSNR is measured on these. The folder scene.run beside the "
      "file gets sheet.png\n(truth, splats), turntable.mp4 or path.mp4, curve.svg and the checkpoints. "
      "Ctrl-C "
      "saves a checkpoint; the time used so\nfar is remembered. Times in --set are shares of the run.");
  auto& run = arguments->run;
  verb->add_option("PHOTOS", run.photos, "Folder of photos with a camera file, or the camera file");
  verb->add_option("-o,--output", arguments->output, "The .ply to make")->check(output_file());
  verb->add_option("--resume", arguments->resume, "Go on with the run that makes this .ply");
  add_number(*verb, "--stop-after", arguments->stop_after, "Stop cleanly after this step, to be resumed",
             kFromOne);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  add_number(*verb, "--longer-side", arguments->longer_side,
             "Pixels of the longer side; the shape is that of the first photo", Limits{1, 16384})
      ->capture_default_str();
  verb->add_option("--size", arguments->size, "Instead: N (a square) or HxW")->excludes("--longer-side");
  add_fields(*verb, run, "Run", {"photos", "height", "width", "keep", "reading", "splats"});
  verb->get_option("--minutes")->excludes("--iterations");
  add_fields(*verb, run.reading, "Photos");
  add_fields(*verb, run.splats, "Gaussians", {"background", "rates", "mcmc", "classic"});
  verb->add_option("--set", arguments->settings,
                   "A field of the optimisation, such as rates.scale=0.01 or mcmc.noise=0")
      ->group("Gaussians");
  verb->callback([verb, arguments, &exit_code] { exit_code = run_nvs_splat(*verb, *arguments); });
}

}  // namespace lact::cli
