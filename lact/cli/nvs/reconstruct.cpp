#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <numeric>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/progress.h"
#include "lact/cli/fields.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/cli/ranks.h"
#include "lact/data/views/preprocess.h"
#include "lact/data/views/select.h"
#include "lact/io/atomic_file.h"

namespace lact::cli {

namespace {

struct NvsReconstructArguments {
  NvsArguments nvs;
  std::string photos, size, frame, output;
  data::CaptureOptions reading;
  data::ViewChoice selection = data::ViewChoice::kmeans;
  int64_t views = 0, piece_tokens = models::ReconstructOptions{}.piece_tokens;
  uint64_t seed = 0;
  RankOptions ranks;
  bool json = false;
};

std::vector<int64_t> chosen_views(const NvsReconstructArguments& arguments, const data::Capture& photos) {
  std::vector<int64_t> all(photos.views.size());
  std::iota(all.begin(), all.end(), 0);
  const auto available = int64_t(all.size());
  LACT_CHECK(arguments.views <= available, "{}: {} views were asked for, but there are {}", photos.source,
             arguments.views, available);
  return data::choose_views(data::cameras_of(photos), all, arguments.views == 0 ? available : arguments.views,
                            arguments.selection, arguments.seed);
}

void run_nvs_reconstruct(const NvsReconstructArguments& arguments) {
  io::check_can_write(arguments.output);
  const data::Capture photos = data::load_capture(arguments.photos, arguments.reading);
  const std::vector<int64_t> chosen = chosen_views(arguments, photos);
  const parallel::World world = join_ranks(arguments.ranks, Shared::sequence);
  return_freed_memory();
  const auto nvs = tasks::nvs::load(arguments.nvs.model, arguments.nvs.load);
  const io::ImageSize size = view_size_for(arguments.size, nvs);
  const int64_t patch = nvs.model->config().patch_size;
  data::check_patches(size.height, size.width, patch);
  const data::FrameChoice frame = frame_for(arguments.frame, nvs);

  const bool speaks = world.all.rank() == 0;
  nvs.model->set_world(world);
  const auto start = std::chrono::steady_clock::now();
  std::optional<Progress> bar;
  const auto on_piece = [&](int64_t done, int64_t total) {
    if (!speaks) return;
    if (!bar) {
      ProgressOptions progress;
      progress.done_at_start = done;
      bar.emplace("reconstruct", total, progress);
    }
    bar->update(done, format_bytes(double(resident_bytes())));
  };
  models::NvsScene scene =
      tasks::nvs::read_photos(nvs, photos, chosen, {size, frame, arguments.piece_tokens, on_piece});
  bar.reset();
  if (!speaks) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The shipped weights are found again by themselves, wherever they are.
  if (!arguments.nvs.model.empty()) scene.model_path = std::filesystem::absolute(nvs.path).lexically_normal();
  models::save_scene(arguments.output, scene, nvs.fingerprint);

  const int64_t tokens = int64_t(chosen.size()) * (size.height / patch) * (size.width / patch);
  const auto bytes = int64_t(std::filesystem::file_size(arguments.output));
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"scene", arguments.output},
                                         {"model", nvs.fingerprint},
                                         {"views", chosen.size()},
                                         {"chosen", chosen},
                                         {"height", size.height},
                                         {"width", size.width},
                                         {"frame", std::string(options::word_of(frame))},
                                         {"tokens", tokens},
                                         {"seconds", seconds},
                                         {"tokens_per_second", double(tokens) / seconds},
                                         {"file_bytes", bytes},
                                         {"peak_memory_bytes", peak_resident_bytes()}};
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << fmt::format(
        "{}: {} of {} views of {} x {} pixels, {} tokens, read in {}; {} of scene file, {} of memory at "
        "most\n",
        arguments.output, chosen.size(), photos.views.size(), size.height, size.width,
        format_count(double(tokens)), format_duration(seconds), format_bytes(double(bytes)),
        format_bytes(double(peak_resident_bytes())));
  }
}

}  // namespace

void add_nvs_reconstruct(CLI::App& task) {
  const auto arguments = std::make_shared<NvsReconstructArguments>();
  auto* verb = task.add_subcommand("reconstruct", "Read photos with cameras into a scene file");
  verb->footer(
      "Example: lact nvs reconstruct photos/ --views 16 --size 256 -o scene.fw\n"
      "         lact nvs view scene.fw\n"
      "Cameras: opencv_cameras.json, transforms.json (NeRF, instant-ngp, nerfstudio) or a COLMAP model.");
  verb->add_option("PHOTOS", arguments->photos, "Folder of photos with a camera file, or the camera file")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Scene file to write")->check(output_file())->required();
  add_nvs_options(*verb, arguments->nvs);
  add_number(*verb, "--views", arguments->views, "Photos to read; 0: all");
  add_selection_option(*verb, arguments->selection);
  add_number(*verb, "--seed", arguments->seed, "Of kmeans and random", kAny)->capture_default_str();
  verb->add_option(
      "--size", arguments->size,
      "Pixels of the photos for the model, N (a square) or HxW, whole patches; by default what the "
      "model was trained on, or 256");
  verb->add_option(
      "--frame", arguments->frame,
      "Coordinates of the scene for the model: given (as in the camera file), mean_pose (the mean "
      "camera is the origin) or object (what the photos look at is the origin, z up); by default "
      "what the model was trained on, or mean_pose");
  add_number(*verb, "--piece-tokens", arguments->piece_tokens,
             "Tokens that pass through a layer together: fewer take less memory", kFromOne)
      ->capture_default_str();
  add_fields(*verb, arguments->reading, "Photos");
  add_rank_options(*verb, arguments->ranks);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments] { run_nvs_reconstruct(*arguments); });
}

}  // namespace lact::cli
