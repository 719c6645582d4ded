#include <CLI/CLI.hpp>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/tasks/nvs/serving/scene_frames.h"
#include "lact/tasks/nvs/serving/viewer.h"

namespace lact::cli {

namespace {

struct NvsViewArguments {
  NvsArguments nvs;
  std::string scene;
  int64_t size = 0;
  tasks::nvs::ViewerOptions viewer;
};

int run_nvs_view(const NvsViewArguments& arguments) {
  keep_freed_memory();
  tasks::nvs::SceneFileFrames frames(
      tasks::nvs::load_for_scene(arguments.scene, arguments.nvs.model, arguments.nvs.load), arguments.scene,
      arguments.size);
  return tasks::nvs::run_viewer(frames, arguments.viewer);
}

}  // namespace

void add_nvs_view(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsViewArguments>();
  arguments->viewer.server.port = 8000;
  auto* verb = task.add_subcommand("view", "Fly through a scene file in the browser");
  verb->footer(
      "Example: lact nvs view scene.fw --size 256\n"
      "Drag to orbit, scroll to move. Frames are small while the camera moves and full when it rests. When "
      "the "
      "file is\nreplaced, as lact nvs reconstruct --stream does, the new scene is shown.");
  verb->add_option("SCENE", arguments->scene, "Scene file")->required();
  add_nvs_options(*verb, arguments->nvs);
  add_number(*verb, "--size", arguments->size,
             "The longer side of a frame at rest, whole patches; 0: as the model read the photos",
             Limits{0, double(arguments->viewer.max_side)})
      ->capture_default_str();
  verb->add_option("--host", arguments->viewer.server.host,
                   "Address to serve at; others than 127.0.0.1 are open to the network")
      ->capture_default_str();
  add_number(*verb, "--port", arguments->viewer.server.port, "0: any free one", Limits{0, 65535})
      ->capture_default_str();
  verb->callback([arguments, &exit_code] { exit_code = run_nvs_view(*arguments); });
}

}  // namespace lact::cli
