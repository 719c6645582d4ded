// `lact nvs fit`: a model tuned to the photos of one capture.
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
#include "lact/data/views/preprocess.h"
#include "lact/models/nvs/folder.h"
#include "lact/tasks/nvs/fitting/results.h"

namespace lact::cli {

namespace {

struct NvsFitArguments {
  std::string photos, model, size, output, resume;
  int64_t longer_side = 96, stop_after = 0;
  bool json = false;
  tasks::nvs::FitRun run;
};

void settle_nvs_fit(NvsFitArguments& arguments) {
  auto& run = arguments.run;
  LACT_CHECK(!arguments.photos.empty(), "[fit] PHOTOS are missing: a folder with a camera file, or the file");
  LACT_CHECK(!arguments.output.empty(), "[fit] -o is missing: the folder of the run");
  run.photos.photos = {arguments.photos};
  run.initial_model = arguments.model.empty() ? tasks::nvs::shipped_weights() : arguments.model;
  LACT_CHECK(!run.initial_model.empty(),
             "no weights come with this build (weights/nvs was not found); --model names a model folder");
  run.model = models::load_nvs(run.initial_model)->config();
  const int64_t patch = run.model.decoded_patch();
  auto& size = run.stages.front().size;
  size = arguments.size.empty() ? tasks::nvs::size_for_photos(run.capture(), arguments.longer_side, patch)
                                : parse_view_size(arguments.size, "--size");
  data::check_patches(size.height, size.width, patch);
  run.check();
  const auto before = tasks::nvs::score_held_out(run, run.initial_model);
  log::info("before the fit: PSNR {:.2f} dB on the held-out photos, {} x {} pixels", before.psnr, size.height,
            size.width);
}

void show_fit(const NvsFitArguments& arguments, const tasks::nvs::FitResults& results,
              const train::TrainResult& trained, const std::string& folder) {
  const double waited = trained.validation.contains("share_waited_for_pictures")
                            ? trained.validation.at("share_waited_for_pictures")
                            : 0;
  if (!arguments.json) {
    std::cout << fmt::format(
        "{}: PSNR {:.2f} dB (before the fit {:.2f}), SSIM {:.3f} ({:.3f}) on {} of {} photos that were held "
        "out; {} steps in {:.1f} minutes, {:.2f} % of them spent waiting for photos\n",
        folder, results.after.psnr, results.before.psnr, results.after.ssim, results.before.ssim,
        results.held_out, results.photos, trained.step, results.minutes, 100 * waited);
    for (const auto& file : {results.scene, results.video, results.sheet, results.curve})
      std::cout << fmt::format("  {}\n", file);
    return;
  }
  const nlohmann::ordered_json json = {{"folder", folder},
                                       {"photos", results.photos},
                                       {"held_out", results.held_out},
                                       {"psnr", results.after.psnr},
                                       {"ssim", results.after.ssim},
                                       {"psnr_before", results.before.psnr},
                                       {"ssim_before", results.before.ssim},
                                       {"steps", trained.step},
                                       {"minutes", results.minutes},
                                       {"share_waited_for_pictures", waited},
                                       {"scene", results.scene},
                                       {"video", results.video},
                                       {"sheet", results.sheet},
                                       {"curve", results.curve}};
  std::cout << json.dump(2) << "\n";
}

int run_nvs_fit(const CLI::App& verb, NvsFitArguments& arguments) {
  keep_freed_memory();
  train::RunOptions where;
  where.folder = arguments.resume.empty() ? arguments.output : arguments.resume;
  where.title = "fit";
  where.stop_after = arguments.stop_after;
  train::TrainResult trained;
  if (arguments.resume.empty()) {
    settle_nvs_fit(arguments);
    trained = train::start_run(arguments.run, where);
  } else {
    for (const auto* option : verb.get_options()) {
      const std::string name = option->get_name();
      const bool goes = name == "--resume" || name == "--stop-after" || name == "--json";
      LACT_CHECK(goes || option->count() == 0,
                 "[fit] --resume goes on with the options of the run; {} cannot be changed", name);
    }
    trained = train::resume_run<tasks::nvs::FitRun>(where);
  }
  if (!trained.finished) {
    log::info("stopped after step {}; go on with: lact nvs fit --resume {}", trained.step, where.folder);
    return kExitInterrupted;
  }
  std::optional<Progress> bar;
  const auto on_frame = [&](int64_t done, int64_t total) {
    if (!bar) bar.emplace("video", total);
    bar->update(done, "");
  };
  const auto run = train::read_run<tasks::nvs::FitRun>(where.folder);
  const auto results = tasks::nvs::write_fit_results(run, where.folder, on_frame);
  bar.reset();
  show_fit(arguments, results, trained, where.folder);
  return 0;
}

}  // namespace

void add_nvs_fit(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsFitArguments>();
  auto* verb = task.add_subcommand("fit", "Tune a model to the photos of one capture, for some minutes");
  verb->footer(
      "Example: lact nvs fit photos/ -o fitted --minutes 30\n"
      "         lact nvs view fitted/scene.fw\n"
      "         lact nvs fit --resume fitted\n"
      "Every eighth photo is never trained on; PSNR is measured on these. The folder gets scene.fw, "
      "sheet.png (truth,\nfitted, before), turntable.mp4 or path.mp4, curve.svg, and the model. Ctrl-C saves "
      "a checkpoint; the time used\nso far is remembered.");
  verb->add_option("PHOTOS", arguments->photos, "Folder of photos with a camera file, or the camera file");
  verb->add_option("-o,--output", arguments->output, "Folder of the run")->check(output_folder());
  verb->add_option(
      "-m,--model", arguments->model,
      "Model folder or checkpoint file to begin with; by default the weights that come with lact");
  verb->add_option("--resume", arguments->resume, "Go on with the fit in this folder");
  add_number(*verb, "--stop-after", arguments->stop_after, "Stop cleanly after this step, to be resumed",
             kFromOne);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  auto& run = arguments->run;
  auto& stage = run.stages.front();
  const std::string views = "Views";
  add_number(*verb, "--longer-side", arguments->longer_side,
             "Pixels of the longer side; the shape is that of the first photo, in whole patches",
             Limits{1, 4096})
      ->capture_default_str()
      ->group(views);
  verb->add_option("--size", arguments->size, "Instead: N (a square) or HxW, whole patches")
      ->excludes("--longer-side")
      ->group(views);
  add_fields(*verb, stage, views, {"steps", "size", "near", "rate", "warmup", "perceptual"});
  add_number(*verb, "--views", run.views,
             "Photos that the scene is read from in the end, spread evenly; 0: all that are not held out")
      ->capture_default_str()
      ->group(views);
  add_fields(*verb, run.photos, "Photos", {"photo_share", "photos", "photo_holdout", "photo_holdout_names"});
  verb->add_option_function<std::string>(
          "--frame",
          [&run](const std::string& word) { options::read(options::Json(word), run.frame, "frame"); },
          "Coordinates of the scene for the model: object (what the photos look at is the origin), mean_pose "
          "(of the input\nviews) or given (as in the camera file)")
      ->default_str("object")
      ->group(views);
  add_fields(*verb, run.training, "Training", {"accumulate", "validate_every", "save_every", "log_every"});
  add_precision_options(*verb, run.precision, run.recompute);
  verb->callback([verb, arguments, &exit_code] { exit_code = run_nvs_fit(*verb, *arguments); });
}

}  // namespace lact::cli
