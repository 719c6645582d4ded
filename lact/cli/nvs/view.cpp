#include <CLI/CLI.hpp>

#include "lact/base/log.h"
#include "lact/base/memory_use.h"
#include "lact/cli/numbers.h"
#include "lact/cli/nvs/scene_words.h"
#include "lact/tasks/nvs/serving/scene_frames.h"
#include "lact/tasks/nvs/serving/viewer.h"

namespace lact::cli {

namespace {

struct NvsViewArguments {
  SceneArguments scene;
  int64_t size = 0;
  tasks::nvs::ViewerOptions viewer;
};

int run_nvs_view(const CLI::App& verb, const NvsViewArguments& arguments) {
  keep_freed_memory();
  tasks::nvs::SceneFileFrames frames(reader_of(verb, arguments.scene), arguments.scene.scene, arguments.size);
  return tasks::nvs::run_viewer(frames, arguments.viewer);
}

}  // namespace

void add_nvs_view(CLI::App& task, int& exit_code) {
  const auto arguments = std::make_shared<NvsViewArguments>();
  arguments->viewer.server.port = 8000;
  auto* verb = task.add_subcommand("view", "Fly through a scene in the browser");
  verb->footer(
      "Example: lact nvs view scene.fw --size 256\n"
      "         lact nvs view scene.ply --photos photos/\n"
      "Drag to orbit, scroll to move. Frames are small while the camera moves and full when it rests. When "
      "the "
      "file is\nreplaced, as lact nvs reconstruct --stream does, the new scene is shown.");
  add_scene_words(*verb, arguments->scene);
  add_number(*verb, "--size", arguments->size,
             "The longer side of a frame at rest, whole patches of a model; 0: as the photos were read, at "
             "most 1024",
             Limits{0, double(arguments->viewer.max_side)})
      ->capture_default_str();
  verb->add_option("--host", arguments->viewer.server.host,
                   "Address to serve at; others than 127.0.0.1 are open to the network")
      ->capture_default_str();
  add_number(*verb, "--port", arguments->viewer.server.port, "0: any free one", Limits{0, 65535})
      ->capture_default_str();
  verb->callback([arguments, verb, &exit_code] { exit_code = run_nvs_view(*verb, *arguments); });
}

}  // namespace lact::cli
