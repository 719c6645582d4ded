// `lact nvs photos`: a scene to try things on, where there is no camera at hand.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/progress.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/cli/outputs.h"
#include "lact/data/views/camera_file.h"
#include "lact/data/views/scene_source.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/render.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"

namespace lact::cli {

namespace {

struct NvsPhotosArguments {
  std::string mesh, size = "256", output;
  int64_t views = 32;
  uint64_t seed = 1;
  bool y_up = false, turntable = false;
};

data::tracer::Scene scene_to_photograph(const NvsPhotosArguments& arguments) {
  data::SceneSourceConfig config;
  if (arguments.mesh.empty()) {
    LACT_CHECK(!arguments.y_up, "[options] --y-up is for --mesh and means nothing without it");
    return data::SceneSource(config, data::ScenePart::kHoldout).scene(arguments.seed);
  }
  LACT_CHECK(std::filesystem::is_regular_file(arguments.mesh), "{}: is not a file, expected a mesh",
             arguments.mesh);
  config.meshes = {arguments.mesh};
  config.mesh_share = 1;
  config.holdout = 0;
  if (arguments.y_up) config.y_up = {""};
  return data::SceneSource(config, data::ScenePart::kTrain).mesh_scene(0, arguments.seed);
}

void run_nvs_photos(const NvsPhotosArguments& arguments) {
  const std::filesystem::path folder = arguments.output, list = folder / "opencv_cameras.json";
  LACT_CHECK(!std::filesystem::exists(list), "{}: exists already, expected a new or empty folder",
             list.string());
  const io::ImageSize size = parse_view_size(arguments.size, "--size");
  const data::tracer::Scene scene = scene_to_photograph(arguments);
  const auto cameras =
      arguments.turntable
          ? data::tracer::ring_cameras(arguments.views, 25, size.height, size.width)
          : data::tracer::random_cameras(arguments.seed, arguments.views, size.height, size.width);
  std::filesystem::create_directories(folder / "images");
  std::vector<std::string> names;
  Progress bar("photos", int64_t(cameras.size()));
  for (const auto& camera : cameras) {
    names.push_back(fmt::format("images/{:04}.png", names.size()));
    const at::Tensor picture = data::tracer::render(scene, camera, {.grid = 2});
    io::write_png((folder / names.back()).string(), io::to_bytes(picture));
    bar.update(int64_t(names.size()), "");
  }
  // Last of all: a folder that has it is complete.
  data::write_camera_path(list.string(), cameras, names);
  std::cout << fmt::format("{}: {} photos of {} x {} pixels with their cameras\n", folder.string(),
                           names.size(), size.height, size.width);
}

}  // namespace

void add_nvs_photos(CLI::App& task) {
  const auto arguments = std::make_shared<NvsPhotosArguments>();
  auto* verb = task.add_subcommand("photos", "Photograph a made-up scene or a mesh, to try the rest on");
  verb->footer(
      "Example: lact nvs photos --seed 7 -o photos\n"
      "         lact nvs photos --mesh cup.obj --views 64 --size 128 -o cup\n"
      "The scenes are of the kind that training keeps for validation.");
  verb->add_option("-o,--output", arguments->output, "Folder for images/ and opencv_cameras.json")
      ->check(output_folder())
      ->required();
  add_number(*verb, "--seed", arguments->seed, "Scene, light and cameras", kAny)->capture_default_str();
  verb->add_option("--mesh", arguments->mesh,
                   "OBJ, glTF, GLB or PLY file to show instead of a made-up scene");
  verb->add_flag("--y-up", arguments->y_up, "The mesh has y up, not z; glTF always has");
  add_number(*verb, "--views", arguments->views, "Photos", Limits{1, 4096})->capture_default_str();
  verb->add_option("--size", arguments->size, "Pixels, N (a square) or HxW")->capture_default_str();
  verb->add_flag("--turntable", arguments->turntable, "Cameras on a circle instead of all around");
  verb->callback([arguments] { run_nvs_photos(*arguments); });
}

}  // namespace lact::cli
