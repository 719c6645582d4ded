#include "lact/cli/nvs/reconstruct.h"

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
#include "lact/cli/outputs.h"
#include "lact/data/views/preprocess.h"
#include "lact/data/views/select.h"
#include "lact/io/atomic_file.h"
#include "lact/io/gaussian_ply.h"
#include "lact/tasks/nvs/gaussian_export.h"

namespace lact::cli {

std::vector<int64_t> chosen_views(const NvsReconstructArguments& arguments, const data::Capture& photos) {
  std::vector<int64_t> all(photos.views.size());
  std::iota(all.begin(), all.end(), 0);
  const auto available = int64_t(all.size());
  LACT_CHECK(arguments.views <= available, "{}: {} views were asked for, but there are {}", photos.source,
             arguments.views, available);
  return data::choose_views(data::cameras_of(photos), all, arguments.views == 0 ? available : arguments.views,
                            arguments.selection, arguments.seed);
}

void save_reconstructed(const NvsReconstructArguments& arguments, const tasks::nvs::Loaded& nvs,
                        models::NvsScene& scene) {
  if (!arguments.nvs.model.empty()) scene.model_path = std::filesystem::absolute(nvs.path).lexically_normal();
  if (!arguments.output.empty()) models::save_scene(arguments.output, scene, nvs.fingerprint);
  if (arguments.ply.empty()) return;
  const ops::Gaussians gaussians = tasks::nvs::gaussians_in_world(scene, arguments.min_opacity);
  io::write_gaussians(arguments.ply, gaussians);
  log::info("{}: {} Gaussians of opacities above {}, of {}", arguments.ply, gaussians.size(),
            arguments.min_opacity, scene.state->gaussians->size());
}

namespace {

/// On the first of several processes, which share the photos.
void read_at_once(const NvsReconstructArguments& arguments, const parallel::World& world,
                  SceneReading& reading) {
  const bool speaks = world.all.rank() == 0;
  reading.chosen = chosen_views(arguments, reading.photos);
  reading.available = int64_t(reading.photos.views.size());
  std::optional<Progress> bar;
  reading.options.on_piece = [&](int64_t done, int64_t total) {
    if (!speaks) return;
    if (!bar) {
      ProgressOptions progress;
      progress.done_at_start = done;
      bar.emplace("reconstruct", total, progress);
    }
    bar->update(done, format_bytes(double(resident_bytes())));
  };
  const auto start = std::chrono::steady_clock::now();
  models::NvsScene scene =
      tasks::nvs::read_photos(reading.nvs, reading.photos, reading.chosen, reading.options);
  bar.reset();
  reading.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (speaks) save_reconstructed(arguments, reading.nvs, scene);
}

void show_reading(const NvsReconstructArguments& arguments, const SceneReading& reading) {
  const auto& [height, width] = reading.options.size;
  const int64_t patch = reading.nvs.model->config().patch_size;
  const int64_t tokens = int64_t(reading.chosen.size()) * (height / patch) * (width / patch);
  const std::string& written = arguments.output.empty() ? arguments.ply : arguments.output;
  const auto bytes = int64_t(std::filesystem::file_size(written));
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"scene", arguments.output},
                                         {"ply", arguments.ply},
                                         {"model", reading.nvs.fingerprint},
                                         {"views", reading.chosen.size()},
                                         {"chosen", reading.chosen},
                                         {"writes", reading.writes},
                                         {"height", height},
                                         {"width", width},
                                         {"frame", std::string(options::word_of(reading.options.frame))},
                                         {"tokens", tokens},
                                         {"seconds", reading.seconds},
                                         {"tokens_per_second", double(tokens) / reading.seconds},
                                         {"file_bytes", bytes},
                                         {"peak_memory_bytes", peak_resident_bytes()}};
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << fmt::format(
        "{}: {} of {} views of {} x {} pixels, {} tokens, read in {}; {} of file, {} of memory at "
        "most\n",
        written, reading.chosen.size(), reading.available, height, width, format_count(double(tokens)),
        format_duration(reading.seconds), format_bytes(double(bytes)),
        format_bytes(double(peak_resident_bytes())));
  }
}

void check_stream(const CLI::App& verb, const NvsReconstructArguments& arguments) {
  for (const char* name : {"--views", "--selection", "--seed"})
    LACT_CHECK(arguments.wait == 0 || verb.get_option(name)->count() == 0,
               "[reconstruct] {} means nothing with --wait, which reads all photos as they come", name);
}

void run_nvs_reconstruct(const CLI::App& verb, const NvsReconstructArguments& arguments) {
  check_stream(verb, arguments);
  LACT_CHECK(!arguments.output.empty() || !arguments.ply.empty(),
             "[reconstruct] -o names the scene file, --ply a file of Gaussians: give one of them");
  for (const std::string& file : {arguments.output, arguments.ply})
    if (!file.empty()) io::check_can_write(file);
  SceneReading reading;
  if (arguments.wait == 0) {
    reading.photos = data::load_capture(arguments.photos, arguments.reading);
    chosen_views(arguments, reading.photos);  // throws before the model is loaded
  }
  const parallel::World world = join_ranks(arguments.ranks, Shared::sequence);
  LACT_CHECK(!arguments.stream || world.alone(), "[reconstruct] --stream is for one process");
  return_freed_memory();
  reading.nvs = tasks::nvs::load(arguments.nvs.model, arguments.nvs.load);
  if (!arguments.ply.empty())
    tasks::nvs::check_gives_gaussians(reading.nvs.model->config(), "[reconstruct] --ply");
  auto& [size, frame, piece_tokens, on_piece] = reading.options;
  size = view_size_for(arguments.size, reading.nvs);
  data::check_patches(size.height, size.width, reading.nvs.model->config().decoded_patch());
  frame = frame_for(arguments.frame, reading.nvs);
  piece_tokens = arguments.piece_tokens;
  reading.nvs.model->set_world(world);
  if (arguments.stream) {
    stream_photos(arguments, reading);
  } else {
    read_at_once(arguments, world, reading);
  }
  if (world.all.rank() == 0) show_reading(arguments, reading);
}

}  // namespace

void add_nvs_reconstruct(CLI::App& task) {
  const auto arguments = std::make_shared<NvsReconstructArguments>();
  auto* verb = task.add_subcommand("reconstruct", "Read photos with cameras into a scene file, or Gaussians");
  verb->footer(
      "Example: lact nvs reconstruct photos/ --views 16 --size 256 -o scene.fw\n"
      "         lact nvs view scene.fw\n"
      "         lact nvs reconstruct photos/ --model gaussians/ --ply scene.ply\n"
      "         lact nvs reconstruct photos/ --stream --every 2 --wait 60 -o scene.fw\n"
      "Cameras: opencv_cameras.json, transforms.json (NeRF, instant-ngp, nerfstudio) or a COLMAP model.");
  verb->add_option("PHOTOS", arguments->photos, "Folder of photos with a camera file, or the camera file")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Scene file to write")->check(output_file());
  auto* ply =
      verb->add_option(
              "--ply", arguments->ply,
              "File of Gaussians to write, for viewers of 3D Gaussian splatting, in the coordinates of "
              "the photos' cameras: of models whose head is gaussians")
          ->check(output_file());
  add_number(*verb, "--min-opacity", arguments->min_opacity, "Gaussians of it or less are left out of --ply",
             kShare)
      ->capture_default_str()
      ->needs(ply);
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
  const char* const one_by_one = "One after the other";
  auto* stream =
      verb->add_flag("--stream", arguments->stream,
                     "Read the photos in their order, a few at a time, and keep the scene file current")
          ->group(one_by_one);
  add_number(*verb, "--every", arguments->every, "Photos that are written into the memory together", kFromOne)
      ->capture_default_str()
      ->needs(stream)
      ->group(one_by_one);
  add_number(
      *verb, "--wait", arguments->wait,
      "Seconds to wait for another photo to appear; the camera file may name photos that are not there "
      "yet, or grow with\nthem. 0: read what is there",
      Limits{0, 1e6})
      ->capture_default_str()
      ->needs(stream)
      ->group(one_by_one);
  add_fields(*verb, arguments->reading, "Photos");
  add_rank_options(*verb, arguments->ranks);
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([verb, arguments] { run_nvs_reconstruct(*verb, *arguments); });
}

}  // namespace lact::cli
