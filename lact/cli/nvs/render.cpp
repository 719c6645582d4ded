#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "lact/base/error.h"
#include "lact/base/interrupt.h"
#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/base/progress.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/scene_words.h"
#include "lact/cli/outputs.h"
#include "lact/cli/verbs.h"
#include "lact/data/views/camera_file.h"
#include "lact/data/views/camera_path.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/frame_output.h"

namespace lact::cli {

namespace {

struct NvsRenderArguments {
  SceneArguments scene;
  std::string camera, size, output;
  bool turntable = false, interpolate = false, views = false, json = false;
  int64_t frames = data::Turntable{}.num_views, between = 15;
  double fps = 30;
};

std::string render_path_word(const NvsRenderArguments& arguments) {
  const std::pair<bool, const char*> paths[] = {{!arguments.camera.empty(), "--camera"},
                                                {arguments.turntable, "--turntable"},
                                                {arguments.interpolate, "--interpolate"},
                                                {arguments.views, "--views"}};
  std::string word;
  for (const auto& [given, name] : paths) {
    LACT_CHECK(!given || word.empty(), "[render] give {} or {}, not both", word, name);
    if (given) word = name;
  }
  LACT_CHECK(!word.empty(), "[render] give --camera FILE, --turntable, --interpolate or --views");
  return word;
}

/// Cameras in the scene's coordinates.
std::vector<data::Camera> render_path(const NvsRenderArguments& arguments, const std::string& kind,
                                      const tasks::nvs::DrawableScene& scene) {
  LACT_CHECK(scene.knows_photos() || (kind != "--views" && kind != "--interpolate"),
             "{}: Gaussians come without cameras, so {} needs --photos", scene.name(), kind);
  std::vector<data::Camera> cameras =
      kind == "--camera" ? data::to_scene(scene.frame(), data::read_camera_path(arguments.camera))
                         : scene.cameras();
  io::ImageSize size = {cameras.front().height, cameras.front().width};
  if (!arguments.size.empty()) size = parse_view_size(arguments.size, "--size");
  // A path that comes with its sizes keeps them unless another one is asked for.
  if (!arguments.size.empty() || kind == "--turntable" || kind == "--interpolate")
    for (auto& camera : cameras) camera = data::resize_and_crop(camera, size.height, size.width);
  if (kind == "--interpolate") return data::interpolate_cameras(cameras, arguments.between);
  if (kind != "--turntable") return cameras;
  return data::turntable_cameras_around(cameras, arguments.frames);
}

/// Whether all frames were written; Ctrl-C stops in between.
bool render_frames(const tasks::nvs::DrawableScene& scene, const std::vector<data::Camera>& path,
                   io::FrameOutput& output) {
  const Interrupt interrupt;
  const auto start = std::chrono::steady_clock::now();
  Progress progress("render", int64_t(path.size()));
  for (size_t i = 0; i < path.size(); ++i) {
    if (interrupt.requested()) {
      log::warn("stopped after {} of {} frames", i, path.size());
      return false;
    }
    output.write(scene.render(path[i]));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.update(int64_t(i + 1), fmt::format("{:.2f} frames/s", double(i + 1) / seconds));
  }
  output.finish();
  return true;
}

int run_nvs_render(const CLI::App& verb, const NvsRenderArguments& arguments) {
  const std::string kind = render_path_word(arguments);
  check_option_groups(verb, kind);
  LACT_CHECK(verb["--fps"]->count() == 0 || io::is_video_name(arguments.output),
             "{}: --fps is for videos, .mp4 or .gif", arguments.output);
  io::check_frame_output(arguments.output);
  keep_freed_memory();
  const auto opened = reader_of(verb, arguments.scene)();
  const tasks::nvs::DrawableScene& scene = *opened;
  const std::vector<data::Camera> path = render_path(arguments, kind, scene);
  std::vector<io::ImageSize> sizes;
  for (const auto& camera : path) {
    data::check_patches(camera.height, camera.width, scene.patch_size());
    sizes.push_back({camera.height, camera.width});
  }
  const auto start = std::chrono::steady_clock::now();
  io::FrameOutput output(arguments.output, sizes, arguments.fps);
  if (!render_frames(scene, path, output)) return kExitInterrupted;
  const double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
               rate = double(path.size()) / total;
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"output", arguments.output},
                                         {"frames", path.size()},
                                         {"height", sizes.front().height},
                                         {"width", sizes.front().width},
                                         {"seconds", total},
                                         {"frames_per_second", rate},
                                         {"peak_memory_bytes", peak_resident_bytes()}};
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << fmt::format("{}: {} frames of {} x {} pixels in {}, {:.2f} frames/s\n", arguments.output,
                             path.size(), sizes.front().height, sizes.front().width, format_duration(total),
                             rate);
  }
  return 0;
}

}  // namespace

void add_nvs_render(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsRenderArguments>();
  auto* verb = task.add_subcommand("render", "Draw new views of a scene: pictures or a video");
  verb->footer(
      "Example: lact nvs render scene.fw --turntable -o around.mp4\n"
      "         lact nvs render scene.fw --camera path.json --size 256x384 -o frames/\n"
      "         lact nvs render scene.ply --photos photos/ --views -o frames/\n"
      "A camera path is a list of {w, h, fx, fy, cx, cy, w2c} in the coordinates of the photos' cameras.\n"
      "The output is a folder of PNG frames, one picture (.png), or a video (.mp4 or .gif, by ffmpeg).");
  verb->add_option("-o,--output", arguments->output, "Folder, .png, .mp4 or .gif")
      ->check(output_frames())
      ->required();
  add_scene_words(*verb, arguments->scene);
  verb->add_option("--camera", arguments->camera, "Along the cameras of this file");
  verb->add_flag("--turntable", arguments->turntable, "Once around what the photos look at");
  verb->add_flag("--interpolate", arguments->interpolate, "From photo to photo");
  verb->add_flag("--views", arguments->views, "From where the photos were taken");
  add_number(*verb, "--frames", arguments->frames, "Frames of the turn", Limits{1, 1'000'000})
      ->capture_default_str()
      ->group("--turntable");
  add_number(*verb, "--between", arguments->between, "Frames between two photos", Limits{0, 100'000})
      ->capture_default_str()
      ->group("--interpolate");
  verb->add_option(
      "--size", arguments->size,
      "Pixels of a frame, N (a square) or HxW, whole patches of a model; by default those of the path or of "
      "the photos as the model read them");
  add_number(*verb, "--fps", arguments->fps, "Frames per second of a video", kFramesPerSecond)
      ->capture_default_str();
  verb->add_flag("--json", arguments->json, "Print for a program to read");
  verb->callback([arguments, verb, &exit_code] { exit_code = run_nvs_render(*verb, *arguments); });
}

}  // namespace lact::cli
